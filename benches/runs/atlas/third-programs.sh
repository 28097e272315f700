#!/bin/bash
# Records the third set of programs, after 0.1 was chosen as the largest distance at which `ask` answers.
# third-programs.sh SEEKWELL FOLDER, as root; needs python3 and sqlite3.
here=$(dirname "$(realpath "$0")")
# shellcheck source=/dev/null
. "$here/record.sh"

record journal-persist python3 -c '
import sqlite3
db = sqlite3.connect("db", isolation_level=None)
db.execute("pragma journal_mode=persist")
db.execute("create table orders(id integer primary key, item text, count integer)")
for n in range(250):
    db.execute("insert into orders(item, count) values(?, ?)", ("item %d" % (n % 50), n))
    if n % 5 == 0:
        db.execute("update orders set count = count + 1 where id = ?", (n // 2 + 1,))
'
record journal-truncate python3 -c '
import sqlite3
db = sqlite3.connect("db", isolation_level=None)
db.execute("pragma journal_mode=truncate")
db.execute("create table t(id integer primary key, blob)")
for n in range(200):
    db.execute("begin")
    for m in range(3):
        db.execute("insert into t(blob) values(zeroblob(?))", (n * 97 % 6000,))
    db.execute("commit")
'
record wal-checkpoints python3 -c '
import sqlite3
db = sqlite3.connect("db", isolation_level=None)
db.execute("pragma journal_mode=wal")
db.execute("pragma synchronous=full")
db.execute("pragma wal_autocheckpoint=60")
db.execute("create table t(id integer primary key, text)")
for n in range(400):
    db.execute("insert into t(text) values(?)", ("x" * (n * 53 % 3000),))
    db.execute("select count(*) from t where id > ?", (n - 20,)).fetchall()
'
record syslog python3 -c '
import os
names = ["auth.log", "kern.log", "mail.log", "messages"]
files = [os.open(name, os.O_CREAT | os.O_WRONLY | os.O_APPEND) for name in names]
for n in range(600):
    one = files[n * 7 % 4]
    os.write(one, b"Nov 30 00:00:%02d host program[%d]: something happened\n" % (n % 60, n) * (1 + n % 3))
    os.fsync(one)
'
record write-ahead python3 -c '
import os
one = os.open("0.wal", os.O_CREAT | os.O_WRONLY)
os.posix_fallocate(one, 0, 16 << 20)
at = 0
for n in range(500):
    at += os.pwrite(one, os.urandom(300 + n * 31 % 4000), at)
    os.fdatasync(one)
'
record sync-writer python3 -c '
import os
one = os.open("audit.jsonl", os.O_CREAT | os.O_WRONLY | os.O_APPEND | os.O_DSYNC)
for n in range(500):
    os.write(one, b"{\"n\": %d, \"user\": \"%s\"}\n" % (n, b"u" * (n % 200)))
'
