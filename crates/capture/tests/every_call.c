// Makes every call of the trace's catalogue at least once, with fixed arguments, in the working
// directory, which must be empty. Some calls fail: their results belong to the trace too.
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <linux/fs.h>
#include <linux/stat.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <utime.h>

// Newer than some C libraries.
#ifndef SYS_fchmodat2
#define SYS_fchmodat2 452
#endif

#define CALL(name, ...) syscall(SYS_##name, __VA_ARGS__)
#define IN_CHILD(start)              \
	do {                         \
		pid_t child = start; \
		if (child == 0)      \
			_exit(0);    \
		wait4(child, 0, 0, 0); \
	} while (0)

static char page[8192] __attribute__((aligned(4096)));
static struct iovec vector[2] = {{page, 100}, {page + 4096, 200}};

static void data(int fd)
{
	CALL(write, fd, page, 5000);
	CALL(pwrite64, fd, page, 300, 9000);
	CALL(writev, fd, vector, 2);
	CALL(pwritev, fd, vector, 2, 20000, 0);
	CALL(pwritev2, fd, vector, 2, 30000, 0, RWF_DSYNC);
	CALL(lseek, fd, 10, SEEK_SET);
	CALL(read, fd, page, 4096);
	CALL(pread64, fd, page, 4096, 4096);
	CALL(readv, fd, vector, 2);
	CALL(preadv, fd, vector, 2, 100, 0);
	CALL(preadv2, fd, vector, 2, 200, 0, 0);
	CALL(read, 999, page, 1);
	CALL(fsync, fd);
	CALL(fdatasync, fd);
	CALL(sync_file_range, fd, 0, 4096, 2);
	CALL(syncfs, fd);
	CALL(fallocate, fd, FALLOC_FL_KEEP_SIZE, 65536, 4096);
	CALL(ftruncate, fd, 40000);
	CALL(fadvise64, fd, 0, 4096, POSIX_FADV_WILLNEED);
	CALL(readahead, fd, 4096, 8192);
	char *mapped = (char *)CALL(mmap, 0, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 4096);
	mapped[1] = 1;
	CALL(msync, mapped, 8192, MS_SYNC);
	CALL(madvise, mapped, 4096, MADV_RANDOM);
	CALL(mremap, mapped, 8192, 4096, 0);
	CALL(munmap, mapped, 4096);
}

static void descriptors(int fd)
{
	int copy = CALL(dup, fd);
	CALL(dup2, fd, 50);
	CALL(dup3, fd, 51, O_CLOEXEC);
	CALL(fcntl, fd, F_DUPFD, 60);
	CALL(fcntl, fd, F_SETFD, FD_CLOEXEC);
	struct flock lock = {F_WRLCK, SEEK_SET, 0, 10, 0};
	CALL(fcntl, fd, F_SETLK, &lock);
	CALL(flock, fd, 2);
	CALL(pread64, 50, page, 10, 0);
	CALL(close, copy);
	CALL(close_range, 50, 70, 0);
	CALL(close, 50);
}

static void copies(int fd)
{
	int to = CALL(openat, AT_FDCWD, "copy", O_CREAT | O_RDWR, 0644);
	off_t from = 0;
	CALL(sendfile, to, fd, &from, 1000);
	CALL(copy_file_range, fd, 0, to, 0, 1000, 0);
	CALL(ioctl, to, FICLONE, fd);
	int ends[2];
	if (pipe(ends) == 0) {
		loff_t start = 0;
		CALL(splice, fd, &start, ends[1], 0, 500, 0);
		CALL(splice, ends[0], 0, to, 0, 500, 0);
		close(ends[0]);
		close(ends[1]);
	}
	CALL(close, to);
}

static void attributes(int fd)
{
	struct stat status;
	struct statx more;
	struct statfs system;
	CALL(stat, "a", &status);
	CALL(fstat, fd, &status);
	CALL(lstat, "a", &status);
	CALL(newfstatat, AT_FDCWD, "none", &status, AT_SYMLINK_NOFOLLOW);
	CALL(statx, AT_FDCWD, "a", 0, STATX_SIZE, &more);
	CALL(access, "a", R_OK);
	CALL(faccessat, AT_FDCWD, "a", W_OK, 0);
	CALL(faccessat2, AT_FDCWD, "a", W_OK, AT_EACCESS);
	CALL(statfs, ".", &system);
	CALL(fstatfs, fd, &system);
	CALL(chmod, "a", 0600);
	CALL(fchmod, fd, 0640);
	CALL(fchmodat, AT_FDCWD, "a", 0600);
	CALL(fchmodat2, AT_FDCWD, "a", 0644, 0);
	CALL(chown, "a", -1, -1);
	CALL(fchown, fd, -1, -1);
	CALL(lchown, "a", -1, -1);
	CALL(fchownat, AT_FDCWD, "a", -1, -1, 0);
	struct utimbuf old = {1, 2};
	struct timeval times[2] = {{1, 0}, {2, 0}};
	struct timespec precise[2] = {{1, 0}, {2, 0}};
	CALL(utime, "a", &old);
	CALL(utimes, "a", times);
	CALL(futimesat, AT_FDCWD, "a", times);
	CALL(utimensat, AT_FDCWD, "a", precise, 0);
	CALL(utimensat, fd, 0, precise, 0);
	CALL(truncate, "a", 45000);
	CALL(setxattr, "a", "user.one", "1", 1, 0);
	CALL(lsetxattr, "a", "user.two", "22", 2, 0);
	CALL(fsetxattr, fd, "user.three", "333", 3, 0);
	CALL(getxattr, "a", "user.one", page, 100);
	CALL(lgetxattr, "a", "user.two", page, 100);
	CALL(fgetxattr, fd, "user.none", page, 100);
	CALL(listxattr, "a", page, 1000);
	CALL(llistxattr, "a", page, 1000);
	CALL(flistxattr, fd, page, 1000);
	CALL(removexattr, "a", "user.one");
	CALL(lremovexattr, "a", "user.two");
	CALL(fremovexattr, fd, "user.three");
}

static void names(void)
{
	CALL(mkdir, "d", 0755);
	CALL(mkdirat, AT_FDCWD, "d/e", 0755);
	int directory = CALL(open, "d", O_RDONLY | O_DIRECTORY);
	CALL(mknod, "f", S_IFREG | 0644, 0);
	CALL(mknodat, directory, "f", S_IFREG | 0644, 0);
	CALL(link, "f", "g");
	CALL(linkat, directory, "f", AT_FDCWD, "h", 0);
	CALL(symlink, "f", "s");
	CALL(symlinkat, "f", directory, "s");
	CALL(readlink, "s", page, 100);
	CALL(readlinkat, directory, "s", page, 100);
	CALL(rename, "g", "i");
	CALL(renameat, directory, "f", AT_FDCWD, "j");
	CALL(renameat2, AT_FDCWD, "i", AT_FDCWD, "j", RENAME_EXCHANGE);
	CALL(getdents, directory, page, 4096);
	CALL(lseek, directory, 0, SEEK_SET);
	CALL(getdents64, directory, page, 4096);
	CALL(fchdir, directory);
	CALL(mknod, "inside", S_IFREG | 0644, 0);
	CALL(chdir, "..");
	CALL(close, directory);
	const char *files[] = {"d/inside", "d/s", "f", "h", "i", "j"};
	for (unsigned at = 0; at < sizeof(files) / sizeof(files[0]); at++)
		CALL(unlink, files[at]);
	CALL(unlinkat, AT_FDCWD, "s", 0);
	CALL(rmdir, "d/e");
	CALL(unlinkat, AT_FDCWD, "d", AT_REMOVEDIR);
	CALL(rmdir, "none");
}

static void asynchronous(int fd)
{
	aio_context_t context = 0;
	CALL(io_setup, 4, &context);
	struct iocb block = {.aio_lio_opcode = IOCB_CMD_PREAD, .aio_fildes = (uint32_t)fd};
	block.aio_buf = (uint64_t)(uintptr_t)page;
	block.aio_nbytes = 4096;
	struct iocb *blocks[] = {&block};
	struct io_event done[1];
	CALL(io_submit, context, 1, blocks);
	CALL(io_getevents, context, 1, 1, done, 0);
	CALL(io_pgetevents, context, 0, 1, done, 0, 0);
	CALL(io_destroy, context);
	CALL(io_uring_setup, 0, 0);
	CALL(io_uring_enter, -1, 0, 0, 0, 0, 0);
	CALL(io_uring_register, -1, 0, 0, 0);
}

static void processes(void)
{
	IN_CHILD(CALL(fork, 0));
	IN_CHILD(vfork());
	IN_CHILD(CALL(clone, SIGCHLD, 0, 0, 0, 0));
	struct { uint64_t flags, pidfd, child, parent, exit_signal, rest[3]; } wanted = {.exit_signal = SIGCHLD};
	IN_CHILD(CALL(clone3, &wanted, sizeof(wanted)));
	char *none[] = {"none", 0};
	CALL(execve, "none", none, none);
	CALL(execveat, AT_FDCWD, "none", none, none, 0);
}

int main(void)
{
	memset(page, 7, sizeof(page));
	CALL(access, "first", F_OK);
	struct { uint64_t flags, mode, resolve; } how = {O_RDWR | O_CREAT, 0644, 0};
	int fd = CALL(openat2, AT_FDCWD, "a", &how, sizeof(how));
	CALL(creat, "b", 0644);
	CALL(open, "none", O_RDONLY, 0);
	CALL(sync, 0);
	data(fd);
	descriptors(fd);
	copies(fd);
	attributes(fd);
	names();
	asynchronous(fd);
	processes();
	CALL(access, "last", F_OK);
	return 0;
}
