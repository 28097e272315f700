"""Programs that sync what they write: a log, and SQLite with a rollback journal or with two processes in WAL mode; and
`tree FOLDER`, the 3,000 files that others unpack, clone and copy."""

import os
import sqlite3
import subprocess
import sys


def insert(rows):
    connection = sqlite3.connect("database", timeout=60, isolation_level=None)
    connection.execute("pragma synchronous=full")
    for _ in range(rows):
        connection.execute("begin immediate")
        connection.execute("insert into rows(text) values(?)", ("x" * 200,))
        connection.execute("commit")


def make(journal):
    with sqlite3.connect("database") as connection:
        connection.execute(f"pragma journal_mode={journal}")
        connection.execute("create table rows(id integer primary key, text text)")
    connection.close()


match sys.argv[1]:
    case "sqlite-rollback":
        make("delete")
        insert(300)
    case "sqlite-wal":
        make("wal")
        command = [sys.executable, os.path.abspath(__file__), "wal-writer"]
        writers = [subprocess.Popen(command) for _ in range(2)]
        sys.exit(any([writer.wait() for writer in writers]))
    case "wal-writer":
        insert(500)
    case "tree":
        for nth in range(3000):
            folder = os.path.join(sys.argv[2], str(nth // 100))
            os.makedirs(folder, exist_ok=True)
            with open(os.path.join(folder, str(nth)), "wb") as file:
                file.write(os.urandom(nth * 7919 % 20000 + 100))
    case "logger":
        with open("log", "a") as log:
            for line in range(600):
                log.write(f"{line} " + "x" * 150 + "\n")
                log.flush()
                os.fsync(log.fileno())
