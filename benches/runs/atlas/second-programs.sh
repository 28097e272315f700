#!/bin/bash
# Records the second set of programs that no load of the atlas was made from, on ext4 in an image, into FOLDER.
# second-programs.sh SEEKWELL FOLDER, as root; needs python3, sqlite3, redis-server, fio, go and PostgreSQL.
here=$(dirname "$(realpath "$0")")
# shellcheck source=/dev/null
. "$here/record.sh"
initdb=$(ls /usr/lib/postgresql/*/bin/initdb | tail -1)

python() { printf "python3 -c '%s'" "$1"; }

record redis-always sh -c 'redis-server --port 7778 --dir . --appendonly yes --appendfsync always --save "" >/dev/null & p=$!
sleep 1; redis-benchmark -p 7778 -t set,lpush -n 2000 -q -r 1000 >/dev/null; redis-cli -p 7778 shutdown nosave; wait $p'
record maildir sh -c "$(python '
import mailbox
box = mailbox.Maildir("box")
for n in range(400):
    box.add("Subject: %d\n\n" % n + "words " * (n * 37 % 3000))
for key in list(box.keys())[::3]:
    box.discard(key)
for key in box.keys():
    box.get_bytes(key)
')"
record mbox sh -c "$(python '
import mailbox
box = mailbox.mbox("box")
for n in range(150):
    box.add("Subject: %d\n\n" % n + "words " * (n * 37 % 3000))
    box.flush()
')"
record batches sh -c "$(python '
import os
files = [os.open("segment%d" % n, os.O_CREAT | os.O_WRONLY | os.O_APPEND) for n in range(4)]
for n in range(1200):
    os.write(files[n % 4], os.urandom(16384))
    if n % 8 == 7:
        os.fdatasync(files[n % 4])
')"
record sqlite-import sh -c 'seq 1 60000 | sed "s/.*/&,some text of row &,&/" >rows.csv
printf "create table t(a integer primary key, b text, c integer);\n.mode csv\n.import rows.csv t\ncreate index i on t(c);\nvacuum;\n" | sqlite3 db'
record sqlite-normal sh -c "$(python '
import sqlite3
db = sqlite3.connect("db", isolation_level=None)
db.execute("pragma journal_mode=wal")
db.execute("pragma synchronous=normal")
db.execute("create table t(a integer primary key, b text)")
for n in range(1500):
    db.execute("begin")
    for m in range(5):
        db.execute("insert into t(b) values(?)", ("x" * (n * 31 % 400),))
    db.execute("commit")
')"
record sqlite-mixed sh -c "$(python '
import sqlite3
db = sqlite3.connect("db", isolation_level=None)
for t in range(4):
    db.execute("create table t%d(a integer primary key, b text)" % t)
for n in range(500):
    db.execute("begin")
    db.execute("insert into t%d(b) values(?)" % (n % 4), ("x" * 900,))
    db.execute("update t%d set b = b where a = ?" % ((n + 1) % 4), (n * 7 % 100,))
    db.execute("commit")
    db.execute("select count(*) from t%d where a > ?" % (n % 4), (n,)).fetchall()
')"
record dbm sh -c "$(python '
import shelve
with shelve.open("shelf") as shelf:
    for n in range(3000):
        shelf[str(n * 7919 % 1000)] = "x" * (n * 13 % 2000)
        if n % 50 == 0:
            shelf.sync()
')"
record split sh -c 'head -c 200M /dev/zero >large; split -b 16M large part; cat part* >again; cmp large again; sync'
record copy-large sh -c 'for n in 1 2 3; do head -c 90M /dev/zero >film$n; done; mkdir backup; cp film* backup/; sync; cat backup/* >/dev/null'
record fio-append sh -c 'fio --name=a --ioengine=psync --rw=write --bs=4k --size=8m --fsync=1 --directory=. --output=/dev/null'
record fio-pages sh -c 'fio --name=a --ioengine=psync --rw=randrw --rwmixread=70 --bs=16k --size=96m --io_size=12m --numjobs=2 --fdatasync=1 --directory=. --output=/dev/null'
record fio-depth sh -c 'fio --name=a --ioengine=libaio --direct=1 --iodepth=16 --rw=randrw --bs=8k --size=128m --io_size=48m --directory=. --output=/dev/null'
mkdir "$mounted/initdb"
chown nobody "$mounted/initdb"
record initdb sh -c "runuser -u nobody -- '$initdb' -D data -A trust >/dev/null"
record go sh -c 'export HOME=$PWD GOCACHE=$PWD/cache GOFLAGS=-mod=mod; printf "package main\nimport (\"fmt\"; \"sort\"; \"strings\")\nfunc main() { s := []string{\"b\"}; sort.Strings(s); fmt.Println(strings.Join(s, \"\")) }\n" >main.go; go build -o program main.go'
