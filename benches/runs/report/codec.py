#!/usr/bin/env python3
"""Sizes of run files and of what a page holds of them, by codec, as CSV.

usage: codec.py OLD_RUNS NEW_RUNS [OLD_PROGRAM] > codec.csv
OLD_RUNS   run files of format 1.0:  git archive bf6c409 benches/runs/replicate | tar x -C FOLDER
NEW_RUNS   the same runs repacked:   benches/runs/replicate
OLD_PROGRAM  `seekwell` of bf6c409, which packs the run file into its page by the codec written by hand
Needs the Python package zstandard.
"""
import base64, collections, gzip, os, re, sqlite3, subprocess, sys, tempfile, zlib
import zstandard

old_runs, new_runs = sys.argv[1:3]
old_program = sys.argv[3] if len(sys.argv) > 3 else None
total = collections.Counter()


def behind(prefix, plain):
    packer = zlib.compressobj(6, zlib.DEFLATED, -15, 9, zlib.Z_DEFAULT_STRATEGY, prefix[-32768:])
    return len(packer.compress(plain) + packer.flush())


def zstd(level, plain, prefix=None):
    raw = zstandard.DICT_TYPE_RAWCONTENT
    words = zstandard.ZstdCompressionDict(prefix, dict_type=raw) if prefix else None
    return len(zstandard.ZstdCompressor(level=level, dict_data=words).compress(plain))


def several(what, values):
    first = None
    for plain in values:
        total[what, 'plain'] += len(plain)
        total[what, 'deflate, each alone'] += len(zlib.compress(plain, 6))
        total[what, 'zstd -3, each alone'] += zstd(3, plain)
        total[what, 'deflate behind the first'] += behind(first or b'', plain)
        total[what, 'zstd -3 behind the first'] += zstd(3, plain, first)
        total[what, 'zstd -19 behind the first'] += zstd(19, plain, first)
        first = first or plain


def in_page(path):
    """Bytes of the element with the run file in the page of the program written by hand."""
    with tempfile.TemporaryDirectory() as folder:
        page = os.path.join(folder, 'page.html')
        subprocess.run([old_program, 'report', path, '--html', page], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return len(re.search(r'id="run">([^<]*)', open(page).read()).group(1))


for name in sorted(os.listdir(new_runs)):
    if not name.endswith('.seekwell'):
        continue
    old, new = os.path.join(old_runs, name), os.path.join(new_runs, name)
    file = sqlite3.connect(old)
    ids = [row[0] for row in file.execute('SELECT id FROM attempt ORDER BY id')]
    total['trials', ''] += len(ids)
    total['run file', 'format 1.0'] += os.path.getsize(old)
    total['run file', 'format 2.0'] += os.path.getsize(new)
    total['run file', 'format 1.0, zstd -3'] += zstd(3, open(old, 'rb').read())
    at_most = zstandard.ZstdCompressor(level=19).compress(open(old, 'rb').read())
    total['run file', 'format 1.0, zstd -19'] += len(at_most)
    bytes = open(new, 'rb').read()
    total['in the page', 'format 2.0, gzip, base64'] += len(base64.b64encode(gzip.compress(bytes, 6)))
    total['in the page', 'format 2.0, zstd -19, base64'] += len(base64.b64encode(zstandard.ZstdCompressor(level=19).compress(bytes)))
    total['in the page', 'format 1.0, zstd -19, base64'] += len(base64.b64encode(at_most))
    if old_program:
        total['in the page', 'written by hand (SkP1, 91 letters)'] += in_page(old)
    several('records', [row[0].encode() for row in file.execute('SELECT record FROM attempt ORDER BY id')])
    blobs = lambda attempt: file.execute('SELECT data FROM histogram WHERE attempt = ? ORDER BY position, operation', (attempt,))
    several('histograms of a trial', [b''.join(zlib.decompress(row[0]) for row in blobs(one)) for one in ids])
    skip = lambda kind: 14 if kind == 'block_events' else 6
    several('series', [zlib.decompress(data[skip(kind):]) for kind, data in file.execute('SELECT kind, data FROM series ORDER BY attempt, kind')])

print('what,codec,bytes,per_trial')
for (what, codec), bytes in total.items():
    print(f'{what},"{codec}",{bytes},{bytes / total["trials", ""]:.0f}')
