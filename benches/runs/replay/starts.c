// Times page faults of a program's own memory, forks, and starts of /bin/true, with and without a recorder:
// cc -O1 -o starts starts.c && ./starts && seekwell capture --same-device -o starts.trace -- ./starts
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PAGES 102400
#define STARTS 300

static double now_s(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec + now.tv_nsec * 1e-9;
}

int main(void)
{
	size_t bytes = PAGES * 4096UL;
	char *memory = mmap(0, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	madvise(memory, bytes, MADV_NOHUGEPAGE);
	double begun_s = now_s();
	for (size_t at = 0; at < bytes; at += 4096)
		memory[at] = 1;
	printf("page fault: %.0f ns\n", (now_s() - begun_s) / PAGES * 1e9);
	munmap(memory, bytes);
	begun_s = now_s();
	for (int nth = 0; nth < STARTS; nth++) {
		pid_t child = fork();
		if (!child)
			_exit(0);
		waitpid(child, 0, 0);
	}
	printf("fork and exit: %.1f us\n", (now_s() - begun_s) / STARTS * 1e6);
	begun_s = now_s();
	for (int nth = 0; nth < STARTS; nth++) {
		pid_t child = vfork();
		if (!child) {
			execl("/bin/true", "true", (char *)0);
			_exit(1);
		}
		waitpid(child, 0, 0);
	}
	printf("vfork and start: %.1f us\n", (now_s() - begun_s) / STARTS * 1e6);
	return 0;
}
