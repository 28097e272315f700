// Two threads: one syncs a file, the other waits for it at a condition variable and writes to a file
// of its own. At the end it joins the one that syncs, which syncs once more before it ends.

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

enum { ROUNDS = 20, SYNCS = 4 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int synced;

static void sync_some(int file)
{
	for (int nth = 0; nth < SYNCS; nth++)
		if (pwrite(file, "data", 4, 4096 * nth) != 4 || fsync(file))
			_exit(2);
}

static void *syncs(void *unused)
{
	int file = open("synced", O_CREAT | O_WRONLY, 0644);
	for (int round = 0; round < ROUNDS; round++) {
		sync_some(file);
		pthread_mutex_lock(&lock);
		synced = 1;
		pthread_cond_broadcast(&changed);
		while (synced)
			pthread_cond_wait(&changed, &lock);
		pthread_mutex_unlock(&lock);
	}
	sync_some(file);
	return unused;
}

int main(void)
{
	pthread_t other;
	int file = open("own", O_CREAT | O_WRONLY, 0644);
	if (pthread_create(&other, 0, syncs, 0))
		return 1;
	for (int round = 0; round < ROUNDS; round++) {
		pthread_mutex_lock(&lock);
		while (!synced)
			pthread_cond_wait(&changed, &lock);
		pthread_mutex_unlock(&lock);
		if (pwrite(file, "x", 1, round) != 1)
			return 3;
		pthread_mutex_lock(&lock);
		synced = 0;
		pthread_cond_broadcast(&changed);
		pthread_mutex_unlock(&lock);
	}
	pthread_join(other, 0);
	return pwrite(file, "y", 1, ROUNDS) == 1 ? 0 : 4;
}
