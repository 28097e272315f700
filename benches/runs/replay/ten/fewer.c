/* Preloaded into a program, it makes the first of ten syncs of each process: the change of the program that `sync_every = 10`
 * stands for in a replay. */
#define _GNU_SOURCE
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

static atomic_uint syncs;

static int one_of_ten(long call, int fd)
{
	return atomic_fetch_add(&syncs, 1) % 10 ? 0 : (int)syscall(call, fd);
}

int fsync(int fd)
{
	return one_of_ten(SYS_fsync, fd);
}

int fdatasync(int fd)
{
	return one_of_ten(SYS_fdatasync, fd);
}
