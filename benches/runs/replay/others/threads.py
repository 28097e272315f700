"""Eight threads that write, read, seek, rename, copy and zip files."""

import threading,os,zipfile,shutil,tempfile,random
def work(n):
    r=random.Random(n)
    for i in range(60):
        with open(f"f{n}-{i}","w+b") as f:
            for k in range(5): f.write(os.urandom(r.randrange(1,20000)))
            f.seek(0,2); f.tell(); f.seek(r.randrange(100)); f.read(1000)
        if i%3==0: os.rename(f"f{n}-{i}",f"g{n}-{i}")
        if i%7==0: shutil.copy(f"f{n}-{i}" if i%3 else f"g{n}-{i}",f"c{n}-{i}")
    with zipfile.ZipFile(f"z{n}.zip","w") as z:
        for i in range(1,20,3): z.write(f"f{n}-{i}")
    with zipfile.ZipFile(f"z{n}.zip") as z: z.extractall(f"x{n}")
ts=[threading.Thread(target=work,args=(n,)) for n in range(8)]
[t.start() for t in ts];[t.join() for t in ts]
shutil.copytree("json","j2"); shutil.rmtree("j2")
