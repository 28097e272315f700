// Touches a mapping from which another thread takes the file away before the next call, and one after
// the first thread of the process has ended.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE 4096
#define PAGES 64

static volatile int stage;
static volatile char *map;
static int other;

static void until(int wanted)
{
	while (stage != wanted)
		;
}

static int made(const char *name)
{
	static char block[PAGE];
	int fd = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);
	for (int page = 0; page < PAGES; page++)
		if (write(fd, block, PAGE) != PAGE)
			exit(1);
	if (fsync(fd))
		exit(1);
	return fd;
}

// The first thread of a process that has ended stays as a zombie.
static int first_has_ended(void)
{
	char text[512] = "";
	int fd = open("/proc/self/stat", O_RDONLY);
	if (read(fd, text, sizeof(text) - 1) < 1)
		exit(1);
	close(fd);
	char *name_end = strrchr(text, ')');
	return name_end && name_end[2] == 'Z';
}

static void *work(void *unused)
{
	(void)unused;
	until(1);
	int sum = map[8 * PAGE];
	stage = 2;
	until(3);
	access("/moved", F_OK);
	while (!first_has_ended())
		;
	sum += map[40 * PAGE];
	// A mapping from after that, through a descriptor from before.
	volatile char *late = mmap(0, PAGES * PAGE, PROT_READ, MAP_SHARED, other, 0);
	sum += late[48 * PAGE];
	exit(sum);
}

int main(int count, char **words)
{
	pthread_t thread;
	if (count != 3)
		return 1;
	int one = made(words[1]);
	other = made(words[2]);
	map = mmap(0, PAGES * PAGE, PROT_READ, MAP_SHARED, one, 0);
	if (pthread_create(&thread, 0, work, 0))
		return 1;
	stage = 1;
	until(2);
	if (mmap((void *)map, PAGES * PAGE, PROT_READ, MAP_SHARED | MAP_FIXED, other, 0) != (void *)map)
		return 1;
	stage = 3;
	pthread_exit(0);
}
