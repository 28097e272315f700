// Maps a file, closes it, says so, and touches one page after another without a call on a file.
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define PAGE 4096L
#define PAGES 262144L
// The kernel maps 16 pages around one at most.
#define APART 32L

int main(int count, char **words)
{
	if (count != 3)
		return 1;
	int fd = open(words[1], O_RDWR | O_CREAT, 0600);
	if (fd < 0 || ftruncate(fd, PAGES * PAGE))
		return 1;
	volatile char *map = mmap(0, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	close(open(words[2], O_WRONLY | O_CREAT, 0600));
	struct timespec pause = {.tv_nsec = 20 * 1000 * 1000};
	for (long page = 0; page < PAGES; page += APART) {
		map[page * PAGE] = 1;
		nanosleep(&pause, 0);
	}
	for (;;)
		pause.tv_sec = 1, nanosleep(&pause, 0);
}
