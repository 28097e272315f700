"""A program for measure.sh to record: commits of SQLite, and small files that are synced and renamed."""

import os
import sqlite3
import sys

folder = sys.argv[1]
database = sqlite3.connect(folder + "/orders.db")
database.execute("PRAGMA journal_mode = WAL")
database.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY, text TEXT)")
for number in range(300):
    with database:
        database.execute("INSERT INTO orders (text) VALUES (?)", ("x" * 200,))
    with open(folder + "/new", "wb") as file:
        file.write(bytes(5000))
        file.flush()
        os.fsync(file.fileno())
    os.rename(folder + "/new", f"{folder}/{number}")
database.close()
