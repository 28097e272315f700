// Gives a file extended attributes, renames it, and clones it as cp does: where the filesystem makes no clones, it
// copies.
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/xattr.h>
#include <unistd.h>

#define BYTES (64 << 10)

static char data[BYTES];

static int fail(const char *what)
{
	perror(what);
	return 1;
}

int main(void)
{
	char value[256];
	int from, to;

	memset(data, 'x', sizeof(data));
	from = open("a", O_RDWR | O_CREAT | O_EXCL, 0644);
	if (from < 0 || write(from, data, BYTES) != BYTES)
		return fail("a");
	if (fsetxattr(from, "user.one", data, 100, 0) || setxattr("a", "user.two", data, 10, 0))
		return fail("set");
	if (getxattr("a", "user.one", value, sizeof(value)) != 100)
		return fail("get");
	if (rename("a", "b"))
		return fail("rename");
	if (removexattr("b", "user.two"))
		return fail("remove");
	if (getxattr("b", "user.two", value, sizeof(value)) >= 0 || errno != ENODATA)
		return fail("gone");
	if (fgetxattr(from, "user.one", value, sizeof(value)) != 100)
		return fail("get open");
	to = open("c", O_WRONLY | O_CREAT | O_EXCL, 0644);
	if (to < 0)
		return fail("c");
	if (ioctl(to, FICLONE, from)) {
		if (pread(from, data, BYTES, 0) != BYTES || write(to, data, BYTES) != BYTES)
			return fail("copy");
	}
	return fsync(to) ? fail("sync") : 0;
}
