"""Puts bytes of an image to use through one node, names the node to ask about, and waits for the end of its input.

Arguments: the node, the use, a folder with `image` and `other`. Both have an ext4 filesystem at 0, 8 and 32 MiB."""
import ctypes, mmap, os, stat, subprocess, sys, threading, time

MIB = 1 << 20
node, use, folder = sys.argv[1:]
image = folder + "/image"
libc = ctypes.CDLL(None, use_errno=True)
undo = []


def run(*words):
    return subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


def loop(path, offset=0, limit=0):
    part = ["--offset", str(offset), "--sizelimit", str(limit)]
    for _ in range(50):
        try:
            made = run("losetup", "--find", "--show", *part, path)
            break
        except subprocess.CalledProcessError:
            time.sleep(0.02)  # Another program was faster.
    undo.append(lambda: run("losetup", "--detach", made))
    return made


def mount(*words):
    run("mount", *words)
    undo.append(lambda: run("umount", words[-1]))


def make(name):
    os.mkdir(f"{folder}/{name}")
    return f"{folder}/{name}"


def same_number(device, path):
    os.mknod(path, 0o600 | stat.S_IFBLK, os.stat(device).st_rdev)
    return path


def linked():
    os.link(image, folder + "/second name")
    return folder + "/second name"


def bound():
    mount("--bind", folder, make("bound"))
    return folder + "/bound/image"


def overlaid():
    lower, work, merged = make("lower"), make("work"), make("merged")
    upper = make("upper")
    os.rename(image, upper + "/image")
    os.symlink("upper/image", image)
    options = f"lowerdir={lower},upperdir={upper},workdir={work}"
    mount("-t", "overlay", "overlay", "-o", options, merged)
    return merged + "/image"


def private(device):
    mount("-t", "tmpfs", "nodes", make("nodes"))
    return same_number(device, folder + "/nodes/node")


def nodes():
    """The node to use and the one to ask about."""
    if node == "a part that overlaps":
        return loop(image, 0, 32 * MIB), loop(image, 8 * MIB, 32 * MIB)
    if node == "the whole around it":
        return loop(image), loop(image, 8 * MIB, 16 * MIB)
    if node == "a part of it":
        return loop(image, 32 * MIB, 16 * MIB), loop(image)
    if node == "a part before it":
        return loop(image, 0, 32 * MIB), loop(image, 32 * MIB, 16 * MIB)
    if node == "a part behind it":
        return loop(image, 32 * MIB, 16 * MIB), loop(image, 0, 32 * MIB)
    if node == "another file":
        return loop(folder + "/other"), loop(image)
    if node == "a loop device over it":
        asked = loop(image)
        return loop(asked), asked
    if node == "the loop device below it":
        used = loop(image)
        return used, loop(used)
    if node == "a file of an overlay":
        used = loop(overlaid())
        return used, loop(folder + "/upper/image")
    paths = {"a second name": linked, "a bound folder": bound}
    if node in paths or node == "a twin":
        return loop(paths.get(node, lambda: image)()), loop(image)
    asked = loop(image)
    if node == "a node of the same number":
        return same_number(asked, folder + "/node"), asked
    if node == "a node in a namespace":
        return private(asked), asked
    return {"itself": asked, "the file": image}[node], asked


def number(result):
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def opened(flags):
    undo.append(lambda fd=os.open(used, flags): os.close(fd))


def ring():
    made = number(libc.syscall(425, 8, ctypes.create_string_buffer(120)))
    fd = os.open(used, os.O_RDWR)
    number(libc.syscall(427, made, 2, (ctypes.c_int * 1)(fd), 1))
    os.close(fd)
    # The kernel takes a closed ring down later, and holds the file until then.
    undo.append(lambda: (libc.syscall(427, made, 3, None, 0), os.close(made)))


def mapped():
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
    fd = os.open(used, os.O_RDWR)
    at = libc.mmap(None, 4096, 3, 1, fd, 0)
    os.close(fd)
    if at == 2**64 - 1:
        raise OSError("mmap")
    undo.append(lambda: libc.munmap(ctypes.c_void_p(at), ctypes.c_size_t(4096)))


def mounted():
    point = make("point")
    mount("-t", "ext4", "-o", "ro,loop" if node == "the file" else "ro", used, point)
    return point


def left_open():
    point = mounted()
    fd = os.open(point + "/lost+found", os.O_RDONLY)
    run("umount", "--lazy", point)
    undo[-1] = lambda: os.close(fd)


def in_a_descriptor():
    script = f'mount -t ext4 -o ro "{used}" "{make("point")}" && echo && read line'
    words = ["unshare", "--mount", "sh", "-c", script]
    child = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    child.stdout.read(1)
    fd = os.open(f"/proc/{child.pid}/ns/mnt", os.O_RDONLY)
    child.stdin.close()
    child.wait()
    undo.append(lambda: os.close(fd))


def detached():
    context = number(libc.syscall(430, b"ext4", 1))
    number(libc.syscall(431, context, 1, b"source", used.encode(), 0))
    number(libc.syscall(431, context, 0, b"ro", None, 0))
    number(libc.syscall(431, context, 6, None, None, 0))
    fd = number(libc.syscall(432, context, 1, 0))
    os.close(context)
    undo.append(lambda: os.close(fd))


USES = {
    "held alone": lambda: opened(os.O_RDONLY | os.O_EXCL),
    "open for writing": lambda: opened(os.O_RDWR),
    "open for reading": lambda: opened(os.O_RDONLY),
    "registered with a ring": ring,
    "mapped": mapped,
    "mapped without a first thread": mapped,
    "mounted in a namespace": mounted,
    "unmounted with an open file": left_open,
    "mounted in a namespace of a descriptor": in_a_descriptor,
    "mounted without a mount point": detached,
    "unused": lambda: None,
}


def finish():
    sys.stdin.read()
    for number_, step in enumerate(reversed(undo)):
        for attempt in range(200):
            try:
                step()
                break
            except subprocess.CalledProcessError:
                time.sleep(0.02)  # A filesystem ends a moment after its last user.
        else:
            os._exit(2)
    os._exit(0)


try:
    used, asked = nodes()
    USES[use]()
    word = "ready " + asked
except BaseException as error:
    word = "failed " + repr(error).replace("\n", " ")
if "without a first thread" in use and word.startswith("ready"):

    def work():
        state = lambda: open(f"/proc/{os.getpid()}/stat").read().rsplit(")")[1].split()[0]
        while state() != "Z":
            time.sleep(0.01)
        print(word, flush=True)
        finish()

    threading.Thread(target=work).start()
    libc.syscall(60, 0)
print(word, flush=True)
finish()
