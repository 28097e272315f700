// Touches pages of a file in mappings, and prints the page faults that the kernel counted.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#define PAGE 4096
#define PAGES 256

static long faults(void)
{
	struct rusage usage;
	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_minflt + usage.ru_majflt;
}

int main(int count, char **words)
{
	static char block[PAGE];
	if (count != 2)
		return 1;
	int fd = open(words[1], O_RDWR | O_CREAT | O_TRUNC, 0600);
	memset(block, 7, PAGE);
	for (int page = 0; page < PAGES; page++)
		if (write(fd, block, PAGE) != PAGE)
			return 1;
	if (fsync(fd))
		return 1;
	volatile char *map = mmap(0, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	volatile char *part = mmap(0, 8 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 128 * PAGE);
	int null = open("/dev/null", O_WRONLY), sum = 0;
	close(fd);
	access(words[1], F_OK);
	long before = faults();
	// Far apart: no fault maps the page of another.
	sum += map[0] + map[40 * PAGE];
	map[80 * PAGE] = 1;
	sum += map[120 * PAGE];
	long after = faults();
	// The kernel itself reads a page in a call; a pipe copies, the null device does not.
	int ends[2];
	if (pipe(ends) || write(ends[1], (char *)map + 160 * PAGE, 1) != 1)
		return 1;
	// The second is a copy, which is no page of the file.
	sum += part[2 * PAGE];
	part[2 * PAGE] = 1;
	// Memory in the place of a part of the mapping, and the rest at another address.
	mmap((char *)map + 200 * PAGE, PAGE, PROT_READ | PROT_WRITE,
	     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	map[200 * PAGE] = 1;
	volatile char *away = mmap(0, 32 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	away = mremap((char *)map + 224 * PAGE, 32 * PAGE, 32 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, (void *)away);
	away[16 * PAGE] = 1;
	munmap((void *)map, 224 * PAGE);
	access("/last", F_OK);
	printf("%ld %d\n", after - before, sum + null);
	return 0;
}
