"""Three processes that insert into one SQLite database, with both kinds of journals."""

import sqlite3,multiprocessing as mp,time
def w(n):
    c=sqlite3.connect("a.db",timeout=30,isolation_level=None)
    for i in range(40):
        c.execute("begin immediate"); c.execute("insert into t values(?,?)",(n,i)); c.execute("commit"); c.execute("select count(*) from t").fetchone()
    c.close()
for mode in ("delete","wal"):
    c=sqlite3.connect("a.db"); c.execute(f"pragma journal_mode={mode}"); c.execute("create table if not exists t(a,b)"); c.commit(); c.close()
    ps=[mp.Process(target=w,args=(n,)) for n in range(3)]
    [p.start() for p in ps];[p.join() for p in ps]
