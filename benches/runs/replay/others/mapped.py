"""Mappings, a copy by the kernel at given offsets, links, an unnamed file."""

import mmap,os
f=open("m","w+b"); f.truncate(4<<20); m=mmap.mmap(f.fileno(),0)
for i in range(0,4<<20,12288): m[i]=65
m.flush(); m.resize(6<<20) ; m[5<<20]=66; m.close()
f2=open("m","rb"); m=mmap.mmap(f2.fileno(),0,prot=mmap.PROT_READ); s=sum(m[i] for i in range(0,6<<20,4096))
os.copy_file_range(f.fileno(),os.open("n",os.O_RDWR|os.O_CREAT,0o644),1<<20,0); os.link("m","k"); os.replace("k","n"); os.unlink("m")
fd=os.open(".",os.O_TMPFILE|os.O_RDWR,0o600); os.write(fd,b"x"*5000); os.link(f"/proc/self/fd/{fd}","t",follow_symlinks=True) ; os.posix_fallocate(fd,0,100000); os.pwritev(fd,[b"a"*100,b"b"*50],10,os.RWF_DSYNC)
