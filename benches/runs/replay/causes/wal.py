"""Four connections of one process that insert into one SQLite database in WAL mode."""

import sqlite3
import threading

ROWS = 300


def insert():
    connection = sqlite3.connect("database", timeout=60, isolation_level=None)
    connection.execute("pragma synchronous=full")
    for _ in range(ROWS):
        connection.execute("begin immediate")
        connection.execute("insert into rows(text) values(?)", ("x" * 200,))
        connection.execute("commit")


first = sqlite3.connect("database")
first.execute("pragma journal_mode=wal")
first.execute("create table rows(id integer primary key, text text)")
first.commit()
threads = [threading.Thread(target=insert) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
