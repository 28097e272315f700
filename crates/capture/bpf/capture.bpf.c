// SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0-only
//
// Records file system calls and block requests of chosen threads.
//
// A call is stashed when it enters and becomes one record when it leaves. A file's path is walked
// once, when it is opened. Nothing is included: the kernel's structures are read at offsets that
// the loader looks up in the running kernel's BTF and writes into `AT`, so that one object fits
// every kernel, and the compiler needs neither headers nor vmlinux.h.

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long s64;

#define SEC(name) __attribute__((section(name), used))
#define INLINE static __attribute__((always_inline))

// Map types and helpers by their numbers in the kernel's interface.
#define MAP_HASH 1
#define MAP_ARRAY 2
#define MAP_PROGRAMS 3
#define MAP_PERCPU_ARRAY 6
#define MAP_CGROUP_ARRAY 8
#define MAP_ARRAY_OF_MAPS 12

static void *(*map_lookup)(const void *map, const void *key) = (void *)1;
static long (*map_update)(const void *map, const void *key, const void *value, u64 flags) = (void *)2;
static long (*map_delete)(const void *map, const void *key) = (void *)3;
static u64 (*time_ns)(void) = (void *)5;
static u32 (*this_cpu)(void) = (void *)8;
static long (*tail_call)(void *context, const void *map, u32 index) = (void *)12;
static u64 (*current_ids)(void) = (void *)14;
static u64 (*current_task)(void) = (void *)35;
static long (*under_cgroup)(const void *map, u32 index) = (void *)37;
static long (*read_user)(void *to, u32 size, const void *from) = (void *)112;
static long (*read_kernel)(void *to, u32 size, const void *from) = (void *)113;
static long (*read_user_str)(void *to, u32 size, const void *from) = (void *)114;
static long (*read_kernel_str)(void *to, u32 size, const void *from) = (void *)115;
static long (*ring_output)(void *ring, const void *data, u64 size, u64 flags) = (void *)130;
static void *(*ring_reserve)(void *ring, u64 size, u64 flags) = (void *)131;
static void (*ring_submit)(void *data, u64 flags) = (void *)132;

// The consumer looks at the rings by itself; waking it for each record would cost more than the record.
#define NO_WAKEUP 1

#define EFAULT 14
// Flags of mmap, the numbers of calls that change mappings, and that of one that makes two descriptors.
#define MAP_FIXED 0x10
#define MAP_ANONYMOUS 0x20
#define MMAP 9
#define MUNMAP 11
#define MREMAP 25
#define SOCKETPAIR 53
#define WAIT4 61
// The state of a thread that waits for a page: no signal but a deadly one ends it.
#define INTERRUPTIBLE 1
#define UNINTERRUPTIBLE 2
// Flag of a task that ends.
#define EXITING 4
// Calls that wake the other end of a pipe or a socket.
#define WRITE 1
#define CLOSE 3
#define WRITEV 20
#define SENDFILE 40
#define SPLICE 275

struct map_definition {
	u32 type, key_size, value_size, max_entries;
};

struct thread {
	// Its number; 0 of a free place.
	u32 id;
	// Calls so far whose end cost only a record, and that cost: without and with a position.
	u32 plain;
	u32 own_ns[2];
	u64 start_ns;
	u64 args[6];
	u32 number;
	u32 inside;
	// Since the end of the last call: when that was, time off the CPU, and time asleep of it.
	u64 free_ns, off_ns, slept_ns;
	u64 out_ns;
	// The state in which it sleeps; 0 while it is ready.
	u32 asleep;
	// Those of the call that is in progress.
	u32 flags;
	// The last page fault since the last call: when it was (0 for none), and time asleep in it.
	u64 fault_ns, fault_slept_ns;
	// On and off the CPU before the call that is in progress.
	u64 cpu_ns, waited_ns;
	// The part of the time asleep that another thread ended, or in which it polled for a child; and the time of such polls
	// since one of them found that a child had ended.
	u64 awaited_ns, polled_ns;
	// The next operation of a call of libaio.
	s64 part;
	// Keeps neighbours, which run on other CPUs, out of its cache lines.
	u64 apart[5];
};

enum record_type { CALL = 1, PATH = 2, FORK = 3, EXEC = 4, EXIT = 5, BLOCK = 6, OPERATION = 7, WAKE = 8, FAULT = 9, SLEPT = 10, REAPED = 11 };

// Values of `inside`: in a call that is recorded, in one of a futex, or in one that waits for a peer or wakes it:
// sockets, polls, children, signals, semaphores.
#define RECORDED 1
#define TOGETHER 2
#define PEER 3

struct call_record {
	u32 type, number;
	u64 end_ns, start_ns;
	u32 process, thread;
	s64 result;
	u64 position;
	u64 args[6];
	u64 cpu_ns, waited_ns;
};

enum path_slot { OPENED = 0, FIRST = 1, SECOND = 2, DIRECTORY = 3 };

#define PATH_BYTES 4096
struct path_record {
	u32 type, size;
	u64 end_ns;
	u32 process, thread;
	u64 inode, file_bytes;
	u32 device, mode;
	u32 slot, complete;
	// The other end of a pipe, or -1.
	int fd, other_fd;
	char bytes[PATH_BYTES + 256];
};
#define PATH_HEAD 64

struct life_record {
	u32 type, other_process;
	u64 end_ns;
	u32 process, thread;
	// 1 at the end of the last thread of a process.
	u32 other_thread, is_last;
	char name[16];
};

struct block_record {
	u32 type, flags;
	u64 end_ns, start_ns;
	u32 process, device;
	u64 sector;
	u32 bytes, depth;
	s64 error;
	// Of the process: threads of the kernel have no other record.
	char name[16];
};


// A single operation of io_uring or libaio.
struct operation_record {
	u32 type, code;
	u64 end_ns, start_ns;
	u32 process, thread;
	s64 result;
	u64 offset;
	u32 length;
	int fd;
	u64 inode;
	u32 device, registered;
	// Those of the operation itself: RWF_ of reads and writes, IORING_FSYNC_DATASYNC of syncs.
	u32 flags, reserved;
};

// A thread that slept between its calls until another one woke it.
struct wake_record {
	u32 type, waker;
	u64 end_ns, slept_ns;
	u32 process, thread;
};

// A page fault at an address of a file's mapping, sent when it happens: another thread may map
// something else there before this one makes its next call.
struct fault_record {
	u32 type, code;
	u64 end_ns, start_ns;
	u32 process, thread;
	u64 address, cpu_ns, waited_ns;
};

// Time asleep in the page fault of this start, sent when the thread is back.
struct slept_record {
	u32 type, unused;
	u64 end_ns, start_ns;
	u32 process, thread;
	u64 slept_ns;
};

// Addresses where files are mapped into a process. When there are more ranges than places, the last
// place spans several: what is mapped between them is recorded too, and the recorder leaves it out.
#define RANGES 16
struct range {
	u64 start, end;
};
struct ranges {
	struct range of[RANGES];
};

struct operation_start {
	u64 start_ns, offset;
	u32 process, thread;
	u32 code, length;
	int fd;
	u32 registered;
	u32 flags, reserved;
};

struct request_start {
	u64 start_ns;
	u32 process, depth;
	u64 name[2];
};

// What the catalogue of calls says about a call; the loader fills `calls`.
#define TRACED 1
#define OPENS 2
#define POSITIONED 4
#define CHANGES_DIRECTORY 8
#define ONLY_FILES 16
#define EXECUTES 32
#define PIPES 64
#define FIRST_PATH_SHIFT 8
#define SECOND_PATH_SHIFT 12
#define SUBMITS (1 << 16)
#define AWAITS (1 << 17)
#define WAKES (1 << 18)
#define MAPS (1 << 19)
#define ONLY_CLONES (1 << 20)
#define MEETS (1 << 21)
// The request of ioctl that shares the blocks of a whole file, of `include/uapi/linux/fs.h`.
#define FICLONE 0x40049409
// Bits of a fault's code as x86 has them, and those that these programs add: in a call.
#define FAULT_BITS 7
#define IN_CALL 8
// Shorter sleeps are not worth a record.
#define LEAST_SLEEP_NS 20000
// Operations of one call of libaio that are recorded.
#define AIO_PARTS 256
// Those of one run of a program: the verifier follows each of them.
#define AIO_AT_ONCE 32
// Codes of libaio begin here.
#define LIBAIO 1000

// The threads that are recorded, each at the place of the low bits of its number. This costs a
// fraction of a look into a hash, and there are two for each call. Of two threads with the same bits
// the later one is in `elsewhere`; `is_elsewhere` is 1 from the first of those on.
#define PLACES 65536
SEC("maps") struct map_definition threads = {MAP_ARRAY, 4, sizeof(struct thread), PLACES};
SEC("maps") struct map_definition elsewhere = {MAP_HASH, 4, sizeof(struct thread), 65536};
SEC("maps") struct map_definition is_elsewhere = {MAP_ARRAY, 4, 4, 1};
SEC("maps") struct map_definition calls = {MAP_ARRAY, 4, 4, 512};
SEC("maps") struct map_definition rings = {MAP_ARRAY_OF_MAPS, 4, 4, 0};
SEC("maps") struct map_definition losses = {MAP_PERCPU_ARRAY, 4, 8, 10};
SEC("maps") struct map_definition operations = {MAP_HASH, 8, sizeof(struct operation_start), 65536};
SEC("maps") struct map_definition after_enter = {MAP_PROGRAMS, 4, 4, 1};
SEC("maps") struct map_definition after_exit = {MAP_PROGRAMS, 4, 4, 2};
SEC("maps") struct map_definition mapped = {MAP_HASH, 4, sizeof(struct ranges), 16384};
SEC("maps") struct map_definition scratch = {MAP_PERCPU_ARRAY, 4, 8192, 1};
SEC("maps") struct map_definition cgroups = {MAP_CGROUP_ARRAY, 4, 4, 1};
SEC("maps") struct map_definition requests = {MAP_HASH, 8, sizeof(struct request_start), 16384};
SEC("maps") struct map_definition depths = {MAP_HASH, 4, 8, 256};

// Offsets of the running kernel, and what to trace; the order is that of the loader.
struct at {
	u32 task_files, files_fdt, fdt_fd, file_position, file_inode, file_path, path_mount, path_dentry;
	u32 dentry_parent, dentry_name, qstr_name, vfsmount_root, mount_vfsmount, mount_parent, mount_point;
	u32 inode_number, inode_super, inode_mode, inode_size, super_device;
	u32 task_fs, fs_directory, task_thread, task_process, task_name;
	u32 request_sector, request_flags, request_queue, queue_disk, disk_major, disk_minor, program_name;
	u32 task_state, task_signal, signal_live, task_flags;
	u32 disk_in_request;
	u32 select, self;
	u32 uring_file, uring_code, uring_flags, uring_fd, uring_offset, uring_length, uring_rw_flags, uring_sync_flags,
		entry_result, has_entry;
};
volatile const struct at AT = {};

#define SELECT_CGROUP 1
#define SELECT_SYSTEM 2

enum loss { LOST_CALL = 0, LOST_PATH = 1, LOST_LIFE = 2, LOST_BLOCK = 3, LOST_THREAD = 4, UNREADABLE_PATH = 5, LOST_OPERATION = 6, LOST_WAKE = 7, LOST_FAULT = 8, CALL_OF_32_BIT = 9 };

INLINE void lose(u32 kind)
{
	u64 *count = map_lookup(&losses, &kind);
	if (count)
		*count += 1;
}

INLINE void *ring(void)
{
	u32 cpu = this_cpu();
	return map_lookup(&rings, &cpu);
}

INLINE u64 pointer(u64 base, u32 offset)
{
	u64 value = 0;
	read_kernel(&value, sizeof(value), (void *)(base + offset));
	return value;
}

INLINE u32 word(u64 base, u32 offset)
{
	u32 value = 0;
	read_kernel(&value, sizeof(value), (void *)(base + offset));
	return value;
}

struct two {
	u64 first, second;
};

// Pointers of one structure, by one read where they are close to each other.
INLINE struct two pointers(u64 base, u32 first, u32 second)
{
	u64 words[3] = {};
	struct two both;
	if (second - first == 8 || second - first == 16) {
		read_kernel(words, sizeof(words), (void *)(base + first));
		both.first = words[0];
		both.second = second - first == 8 ? words[1] : words[2];
	} else {
		both.first = pointer(base, first);
		both.second = pointer(base, second);
	}
	return both;
}

INLINE u64 file_of(int fd)
{
	u64 files = pointer(current_task(), AT.task_files);
	u64 table = pointer(pointer(files, AT.files_fdt), AT.fdt_fd);
	return table ? pointer(table, (u32)fd * 8) : 0;
}

INLINE struct path_record *path_record(u64 ids, u64 end_ns, u32 slot)
{
	u32 zero = 0;
	struct path_record *record = map_lookup(&scratch, &zero);
	if (!record)
		return 0;
	record->type = PATH;
	record->end_ns = end_ns;
	record->process = ids >> 32;
	record->thread = (u32)ids;
	record->inode = 0;
	record->file_bytes = 0;
	record->device = 0;
	record->mode = 0;
	record->slot = slot;
	record->complete = 0;
	record->fd = -1;
	record->other_fd = -1;
	return record;
}

INLINE void send_path(struct path_record *record, u32 length)
{
	record->size = length;
	void *to = ring();
	u64 size = (PATH_HEAD + length) & 8191;
	if (!to || ring_output(to, record, size, NO_WAKEUP))
		lose(LOST_PATH);
}

// Names from the file up to the root of its mount namespace, each ended by a zero. Their length is kept
// in the record: the verifier of Linux 6.1 follows a range of its own for each number of names, and
// gives up.
INLINE void walk(u64 path, struct path_record *record)
{
	struct two place = pointers(path, AT.path_mount, AT.path_dentry);
	u64 mount = place.first, dentry = place.second;
	u64 top = pointer(mount, AT.vfsmount_root);
	record->size = 0;
	for (int step = 0; step < 64; step++) {
		if (dentry == top) {
			u64 whole = mount - AT.mount_vfsmount;
			place = pointers(whole, AT.mount_parent, AT.mount_point);
			u64 above = place.first;
			if (!above || above == whole) {
				record->complete = 1;
				break;
			}
			dentry = place.second;
			mount = above + AT.mount_vfsmount;
			top = pointer(mount, AT.vfsmount_root);
			continue;
		}
		struct two own = pointers(dentry, AT.dentry_parent, AT.dentry_name + AT.qstr_name);
		u64 parent = own.first, name = own.second;
		u32 at = record->size;
		if (at >= PATH_BYTES - 256)
			break;
		long length = read_kernel_str(record->bytes + (at & (PATH_BYTES - 1)), 256, (void *)name);
		if (length <= 0)
			break;
		record->size = at + ((u32)length & 511);
		// A pipe or a socket has no parent but itself, and its mount no place.
		if (parent == dentry || !parent)
			break;
		dentry = parent;
	}
	send_path(record, record->size & 8191);
}

// The file or the directory that the call made known. The walk is in the program once: the verifier
// follows each copy anew.
INLINE int send_walked(struct thread *thread, u32 flags, u64 ids, u64 end_ns, s64 result)
{
	int ends[2] = {-1, -1};
	u64 path = 0, file = 0;
	u32 slot = OPENED;
	if (flags & OPENS) {
		if (result < 0)
			return 0;
		ends[0] = (int)result;
	} else if (flags & PIPES) {
		u64 to = thread->number == SOCKETPAIR ? thread->args[3] : thread->args[0];
		if (result || read_user(ends, sizeof(ends), (void *)to))
			return 1;
	} else if (flags & CHANGES_DIRECTORY) {
		if (result)
			return 0;
		slot = DIRECTORY;
		path = pointer(current_task(), AT.task_fs) + AT.fs_directory;
	} else {
		return 0;
	}
	struct path_record *record = path_record(ids, end_ns, slot);
	if (slot == OPENED) {
		file = file_of(ends[0]);
		path = file ? file + AT.file_path : 0;
	}
	if (!path || !record) {
		lose(UNREADABLE_PATH);
		return 1;
	}
	if (file) {
		record->fd = ends[0];
		record->other_fd = ends[1];
		u64 inode = pointer(file, AT.file_inode);
		struct two numbers = pointers(inode, AT.inode_number, AT.inode_size);
		record->inode = numbers.first;
		record->file_bytes = numbers.second;
		record->device = word(pointer(inode, AT.inode_super), AT.super_device);
		record->mode = word(inode, AT.inode_mode) & 0xffff;
	}
	walk(path, record);
	return 1;
}

INLINE void send_text(u64 ids, u64 end_ns, u64 text, u32 slot)
{
	struct path_record *record = path_record(ids, end_ns, slot);
	if (!record)
		return;
	long length = read_user_str(record->bytes, PATH_BYTES, (void *)text);
	if (length < 0) {
		lose(UNREADABLE_PATH);
		return;
	}
	// Before 6.2 the kernel does not count the end of an empty name.
	if (!length) {
		record->bytes[0] = 0;
		length = 1;
	}
	send_path(record, (u32)length & 8191);
}

INLINE struct thread *thread_of(u32 id)
{
	u32 place = id & (PLACES - 1), zero = 0;
	struct thread *thread = map_lookup(&threads, &place);
	if (!thread || !id)
		return 0;
	if (thread->id == id)
		return thread;
	u32 *any = map_lookup(&is_elsewhere, &zero);
	return any && *any ? map_lookup(&elsewhere, &id) : 0;
}

// Numbers that have a place in common are not given to two new threads at the same instant: the kernel
// counts up. Not zero when there is no room.
INLINE long remember(u32 id, struct thread *thread)
{
	u32 place = id & (PLACES - 1), zero = 0, one = 1;
	struct thread *at = map_lookup(&threads, &place);
	if (at && (!at->id || at->id == id)) {
		thread->id = id;
		*at = *thread;
		return 0;
	}
	thread->id = id;
	map_update(&is_elsewhere, &zero, &one, 0);
	return map_update(&elsewhere, &id, thread, 0);
}

INLINE void forget(u32 id)
{
	u32 place = id & (PLACES - 1), zero = 0;
	struct thread *at = map_lookup(&threads, &place);
	if (at && at->id == id)
		at->id = 0;
	u32 *any = map_lookup(&is_elsewhere, &zero);
	if (any && *any)
		map_delete(&elsewhere, &id);
}

INLINE struct thread *chosen(u64 ids)
{
	u32 thread = (u32)ids;
	struct thread *known = thread_of(thread);
	if (known || !AT.select)
		return known;
	if ((u32)(ids >> 32) == AT.self)
		return 0;
	if (AT.select == SELECT_CGROUP && under_cgroup(&cgroups, 0) != 1)
		return 0;
	struct thread fresh = {};
	if (remember(thread, &fresh)) {
		lose(LOST_THREAD);
		return 0;
	}
	return thread_of(thread);
}

INLINE void set_free(struct thread *thread, u64 now_ns)
{
	thread->free_ns = now_ns;
	thread->off_ns = 0;
	thread->slept_ns = 0;
	thread->awaited_ns = 0;
}

// Time of the thread itself since its last call.
INLINE u64 own_time(struct thread *thread, u64 now_ns)
{
	u64 since_ns = thread->free_ns + thread->off_ns;
	if (!thread->free_ns)
		return ~0ULL;
	return now_ns > since_ns ? now_ns - since_ns : 0;
}

// The end of a call after which only its record was sent. Reading the clock costs a quarter of all:
// how long that takes is measured at one call of 16, and what took far longer was interrupted.
INLINE void set_free_after(struct thread *thread, u64 end_ns, u32 positioned)
{
	u32 *own_ns = positioned ? &thread->own_ns[1] : &thread->own_ns[0];
	if (!*own_ns || !(++thread->plain & 15)) {
		u32 measured_ns = (u32)(time_ns() - end_ns);
		if (!*own_ns || measured_ns < 2 * *own_ns)
			*own_ns = measured_ns;
	}
	set_free(thread, end_ns + *own_ns);
}

struct registers {
	u64 r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di;
	u64 original_ax, ip, cs;
};

// Code of 32 bits: its calls have numbers and arguments of their own.
#define CODE_OF_32_BIT 0x23

INLINE void send_fault(u64 ids, struct fault_record *fault)
{
	void *to = ring();
	fault->type = FAULT;
	fault->end_ns = time_ns();
	fault->process = ids >> 32;
	fault->thread = (u32)ids;
	if (!to || ring_output(to, fault, sizeof(*fault), NO_WAKEUP))
		lose(LOST_FAULT);
}

// The sleep in the last page fault is over by now.
INLINE void end_fault(u64 ids, struct thread *thread)
{
	u64 start_ns = thread->fault_ns;
	thread->fault_ns = 0;
	if (!thread->fault_slept_ns)
		return;
	void *to = ring();
	struct slept_record *record = to ? ring_reserve(to, sizeof(*record), 0) : 0;
	if (!record) {
		lose(LOST_FAULT);
		return;
	}
	record->type = SLEPT;
	record->unused = 0;
	record->end_ns = time_ns();
	record->start_ns = start_ns;
	record->process = ids >> 32;
	record->thread = (u32)ids;
	record->slept_ns = thread->fault_slept_ns;
	ring_submit(record, NO_WAKEUP);
}

SEC("tp_btf/sys_enter")
int sys_enter(u64 *context)
{
	u64 ids = current_ids();
	struct thread *thread = chosen(ids);
	if (!thread)
		return 0;
	if (thread->fault_ns)
		end_fault(ids, thread);
	struct registers *registers = (void *)context[0];
	if ((registers->cs & 0xff) == CODE_OF_32_BIT) {
		thread->inside = 0;
		lose(CALL_OF_32_BIT);
		return 0;
	}
	u32 number = context[1];
	u32 *flags = map_lookup(&calls, &number);
	if (!flags || !*flags)
		return 0;
	if (*flags & WAKES) {
		thread->inside = TOGETHER;
		return 0;
	}
	if (*flags & MEETS) {
		thread->inside = PEER;
		return 0;
	}
	u64 now_ns = time_ns();
	if ((*flags & ONLY_CLONES) && (u32)registers->si != FICLONE)
		return 0;
	thread->args[0] = registers->di;
	thread->args[1] = registers->si;
	thread->args[2] = registers->dx;
	thread->args[3] = registers->r10;
	thread->args[4] = registers->r8;
	thread->args[5] = registers->r9;
	thread->number = number;
	thread->inside = RECORDED;
	thread->flags = *flags;
	thread->cpu_ns = own_time(thread, now_ns);
	thread->waited_ns = thread->free_ns ? thread->slept_ns : ~0ULL;
	thread->start_ns = now_ns;
	thread->part = 0;
	if (*flags & SUBMITS)
		tail_call(context, &after_enter, 0);
	return 0;
}

INLINE void send_paths(struct thread *thread, u32 flags, u64 ids, u64 end_ns, s64 result)
{
	if (send_walked(thread, flags, ids, end_ns, result))
		return;
	// The program's own bad pointer; or its name went with its memory: `process_exec` sent it.
	if (result == -EFAULT || ((flags & EXECUTES) && result == 0))
		return;
	// Without a name such calls work on their descriptor, which the recorder knows.
	u32 first = (flags >> FIRST_PATH_SHIFT) & 15;
	if (first && first <= 6 && thread->args[first - 1])
		send_text(ids, end_ns, thread->args[first - 1], FIRST);
	u32 second = (flags >> SECOND_PATH_SHIFT) & 15;
	if (second && second <= 6 && thread->args[second - 1])
		send_text(ids, end_ns, thread->args[second - 1], SECOND);
}

INLINE void send_operation(struct operation_start *start, s64 result, u64 file)
{
	void *to = ring();
	struct operation_record *record = to ? ring_reserve(to, sizeof(*record), 0) : 0;
	if (!record) {
		lose(LOST_OPERATION);
		return;
	}
	record->type = OPERATION;
	record->code = start->code;
	record->end_ns = time_ns();
	record->start_ns = start->start_ns;
	record->process = start->process;
	record->thread = start->thread;
	record->result = result;
	record->offset = start->offset;
	record->length = start->length;
	record->fd = start->fd;
	record->registered = start->registered;
	record->flags = start->flags;
	record->reserved = 0;
	record->inode = 0;
	record->device = 0;
	if (start->registered && file) {
		u64 inode = pointer(file, AT.file_inode);
		record->inode = pointer(inode, AT.inode_number);
		record->device = word(pointer(inode, AT.inode_super), AT.super_device);
	}
	ring_submit(record, NO_WAKEUP);
}

INLINE void send_wake(u32 type, u32 waker, u64 end_ns, u64 slept_ns, u32 process, u32 id)
{
	void *to = ring();
	struct wake_record *record = to ? ring_reserve(to, sizeof(*record), 0) : 0;
	if (!record) {
		lose(LOST_WAKE);
		return;
	}
	record->type = type;
	record->waker = waker;
	record->end_ns = end_ns;
	record->slept_ns = slept_ns;
	record->process = process;
	record->thread = id;
	ring_submit(record, NO_WAKEUP);
}

// A thread that polls for the end of a child, and sleeps in between, waits for the child. The number is that of the
// program's own namespace: the recorder looks if it is a child.
INLINE void polled(u64 *context, u64 ids, struct thread *thread)
{
	struct registers *registers = (void *)context[0];
	s64 child = context[1], slept_ns = thread->slept_ns - thread->awaited_ns;
	if (registers->original_ax != WAIT4 || child < 0)
		return;
	// Who learns of the end by other means has asked before, and collects the child at the end.
	if (slept_ns > 0 && (!child || thread->polled_ns)) {
		thread->polled_ns += slept_ns;
		thread->awaited_ns = thread->slept_ns;
	}
	if (!child || thread->polled_ns < LEAST_SLEEP_NS)
		return;
	send_wake(REAPED, child, time_ns(), thread->polled_ns, ids >> 32, (u32)ids);
	thread->polled_ns = 0;
}

SEC("tp_btf/sys_exit")
int sys_exit(u64 *context)
{
	u64 ids = current_ids();
	u32 id = (u32)ids;
	struct thread *thread = thread_of(id);
	if (!thread || !thread->inside)
		return 0;
	u32 inside = thread->inside;
	thread->inside = 0;
	if (inside == PEER)
		polled(context, ids, thread);
	if (inside != RECORDED)
		return 0;
	u32 flags = thread->flags;
	// Mappings of memory alone are not files; those at a fixed address may take the place of one.
	if ((flags & ONLY_FILES) && (thread->args[3] & (MAP_FIXED | MAP_ANONYMOUS)) == MAP_ANONYMOUS)
		return 0;
	u64 end_ns = time_ns();
	s64 result = context[1];
	u64 position = ~0ULL;
	if ((flags & POSITIONED) && result >= 0) {
		u64 file = file_of((int)thread->args[0]);
		if (file)
			position = pointer(file, AT.file_position);
	}
	u32 more = flags & ~(u32)(TRACED | POSITIONED | ONLY_FILES | EXECUTES | SUBMITS | AWAITS | MAPS);
	if (more)
		send_paths(thread, flags, ids, end_ns, result);
	void *to = ring();
	struct call_record *record = to ? ring_reserve(to, sizeof(*record), 0) : 0;
	if (!record) {
		lose(LOST_CALL);
		return 0;
	}
	record->type = CALL;
	record->number = thread->number;
	record->end_ns = end_ns;
	record->start_ns = thread->start_ns;
	record->process = ids >> 32;
	record->thread = id;
	record->result = result;
	record->position = position;
	for (int i = 0; i < 6; i++)
		record->args[i] = thread->args[i];
	record->cpu_ns = thread->cpu_ns;
	record->waited_ns = thread->waited_ns;
	ring_submit(record, NO_WAKEUP);
	thread->part = 0;
	if (flags & AWAITS)
		tail_call(context, &after_exit, 0);
	if (flags & MAPS)
		tail_call(context, &after_exit, 1);
	if (more)
		set_free(thread, time_ns());
	else
		set_free_after(thread, end_ns, flags & POSITIONED);
	return 0;
}

// A file was mapped. Two threads that do so at the same instant may take the same place.
INLINE void add_range(struct ranges *known, u64 start, u64 end)
{
	for (int nth = 0; nth < RANGES; nth++) {
		struct range *one = &known->of[nth];
		if (one->end && start <= one->end && end >= one->start) {
			if (start < one->start)
				one->start = start;
			if (end > one->end)
				one->end = end;
			return;
		}
	}
	for (int nth = 0; nth < RANGES; nth++) {
		struct range *one = &known->of[nth];
		if (!one->end) {
			one->start = start;
			one->end = end;
			return;
		}
	}
	struct range *last = &known->of[RANGES - 1];
	if (start < last->start)
		last->start = start;
	if (end > last->end)
		last->end = end;
}

INLINE void cut_range(struct ranges *known, u64 start, u64 end)
{
	for (int nth = 0; nth < RANGES; nth++) {
		struct range *one = &known->of[nth];
		if (start >= one->end || end <= one->start)
			continue;
		if (start <= one->start && end >= one->end)
			one->start = one->end = 0;
		else if (start <= one->start)
			one->start = end;
		else if (end >= one->end)
			one->end = start;
	}
}

INLINE int is_mapped(struct ranges *known, u64 address)
{
	for (int nth = 0; nth < RANGES; nth++)
		if (address >= known->of[nth].start && address < known->of[nth].end)
			return 1;
	return 0;
}

INLINE void map_changed(struct thread *thread, u32 process, u64 result)
{
	struct ranges *known = map_lookup(&mapped, &process);
	u64 address = thread->args[0], length = (thread->args[1] + 4095) & ~4095ULL;
	if (thread->number == MUNMAP) {
		if (known)
			cut_range(known, address, address + length);
		return;
	}
	if (thread->number == MREMAP) {
		length = (thread->args[2] + 4095) & ~4095ULL;
		if (!known || !is_mapped(known, address))
			return;
	} else if (thread->args[3] & MAP_ANONYMOUS) {
		return;
	}
	if (!known) {
		struct ranges none = {};
		if (map_update(&mapped, &process, &none, 0)) {
			lose(LOST_FAULT);
			return;
		}
		known = map_lookup(&mapped, &process);
		if (!known)
			return;
	}
	add_range(known, result, result + length);
}

// A program of its own, as those of libaio.
SEC("tail/sys_exit/1")
int mapping(u64 *context)
{
	u64 ids = current_ids();
	u32 id = (u32)ids;
	struct thread *thread = thread_of(id);
	if (!thread)
		return 0;
	s64 result = context[1];
	if (result >= 0)
		map_changed(thread, ids >> 32, result);
	set_free(thread, time_ns());
	return 0;
}

// One inside of a call belongs to the time of the call.
INLINE int page_fault(u64 address, u64 code)
{
	u64 ids = current_ids();
	u32 process = ids >> 32, id = (u32)ids;
	struct ranges *known = map_lookup(&mapped, &process);
	if (!known || !is_mapped(known, address))
		return 0;
	u64 now_ns = time_ns();
	struct thread *thread = thread_of(id);
	if (!thread)
		return 0;
	if (thread->fault_ns)
		end_fault(ids, thread);
	struct fault_record fault = {};
	fault.code = code & FAULT_BITS;
	fault.address = address;
	if (thread->inside == RECORDED) {
		fault.code |= IN_CALL;
		fault.start_ns = thread->start_ns;
		fault.cpu_ns = thread->cpu_ns;
		fault.waited_ns = thread->waited_ns;
		// The fault comes before its call in the trace: nothing is between them.
		thread->cpu_ns = 0;
		thread->waited_ns = 0;
	} else {
		fault.start_ns = now_ns;
		fault.cpu_ns = own_time(thread, now_ns);
		fault.waited_ns = thread->free_ns ? thread->slept_ns : ~0ULL;
		thread->fault_ns = now_ns;
		thread->fault_slept_ns = 0;
	}
	send_fault(ids, &fault);
	// As after a call: what follows is the thread's own time.
	if (!(fault.code & IN_CALL))
		set_free(thread, time_ns());
	return 0;
}

SEC("tp_btf/page_fault_user")
int page_fault_user(u64 *context)
{
	return page_fault(context[0], context[2]);
}

// The kernel copies from or to the mapping.
SEC("tp_btf/page_fault_kernel")
int page_fault_kernel(u64 *context)
{
	return page_fault(context[0], context[2]);
}

// Operations of libaio are known by the address of their block in the program, with the process in
// the bits above those of an address. Both ends are programs of their own: with these loops in
// `sys_enter` and `sys_exit` the verifier gives up.
INLINE u64 aio_key(u64 ids, u64 block)
{
	return block ^ ((ids >> 32) << 47);
}

INLINE void lose_parts(s64 count)
{
	u32 kind = LOST_OPERATION;
	u64 *lost = map_lookup(&losses, &kind);
	if (lost && count > AIO_PARTS)
		*lost += count - AIO_PARTS;
}

// True if the program has to run again for the rest of a call's operations.
INLINE int has_more_parts(struct thread *thread, s64 count)
{
	thread->part += AIO_AT_ONCE;
	return thread->part < count && thread->part < AIO_PARTS;
}

struct aio_block {
	u64 data;
	u32 key, flags;
	u16 code;
	short priority;
	u32 fd;
	u64 buffer, bytes, offset;
};

// Before the call: another thread may await an operation before this one is back from submitting it.
SEC("tail/sys_enter/0")
int aio_submit(u64 *context)
{
	u64 ids = current_ids();
	u32 id = (u32)ids;
	struct thread *thread = thread_of(id);
	if (!thread)
		return 0;
	s64 count = thread->args[1], part = thread->part;
	u64 list = thread->args[2] + (u64)part * 8;
	for (int nth = 0; nth < AIO_AT_ONCE && part + nth < count; nth++) {
		u64 block = 0;
		struct aio_block said = {};
		// The program's own bad pointer, or memory that is not there yet.
		if (read_user(&block, 8, (void *)(list + (u64)nth * 8)) ||
		    read_user(&said, sizeof(said), (void *)block)) {
			lose(LOST_OPERATION);
			continue;
		}
		struct operation_start start = {};
		start.start_ns = thread->start_ns;
		start.offset = said.offset;
		start.process = ids >> 32;
		start.thread = (u32)ids;
		start.code = LIBAIO + said.code;
		// Of vectors it is the number of parts.
		start.length = said.code < 2 ? (u32)said.bytes : 0;
		start.fd = (int)said.fd;
		// IOCB_CMD_FDSYNC is a code of its own.
		start.flags = said.code == 3 ? 1 : said.flags;
		u64 key = aio_key(ids, block);
		if (map_update(&operations, &key, &start, 0))
			lose(LOST_OPERATION);
	}
	if (has_more_parts(thread, count))
		tail_call(context, &after_enter, 0);
	lose_parts(count);
	thread->start_ns = time_ns();
	return 0;
}

struct aio_event {
	u64 data, block;
	s64 result, more;
};

SEC("tail/sys_exit/0")
int aio_complete(u64 *context)
{
	u64 ids = current_ids();
	u32 id = (u32)ids;
	struct thread *thread = thread_of(id);
	if (!thread)
		return 0;
	s64 count = context[1], part = thread->part;
	u64 list = thread->args[3] + (u64)part * sizeof(struct aio_event);
	for (int nth = 0; nth < AIO_AT_ONCE && part + nth < count; nth++) {
		struct aio_event event = {};
		if (read_user(&event, sizeof(event), (void *)(list + (u64)nth * sizeof(event)))) {
			lose(LOST_OPERATION);
			continue;
		}
		u64 key = aio_key(ids, event.block);
		struct operation_start *start = map_lookup(&operations, &key);
		if (!start)
			continue;
		send_operation(start, event.result, 0);
		map_delete(&operations, &key);
	}
	if (has_more_parts(thread, count))
		tail_call(context, &after_exit, 0);
	lose_parts(count);
	set_free(thread, time_ns());
	return 0;
}

INLINE int uring_submit(u64 request)
{
	u64 ids = current_ids();
	// A thread of the kernel that submits for the program is in its process, and in no list.
	u32 process = ids >> 32;
	if (!chosen(ids) && !thread_of(process))
		return 0;
	struct operation_start start = {};
	u8 code = 0;
	read_kernel(&code, 1, (void *)(request + AT.uring_code));
	start.start_ns = time_ns();
	start.offset = pointer(request, AT.uring_offset);
	start.process = ids >> 32;
	start.thread = (u32)ids;
	start.code = code;
	start.length = word(request, AT.uring_length);
	// Of vectors it is the number of parts.
	if (code == 1 || code == 2 || code == 60 || code == 61)
		start.length = 0;
	start.fd = (int)word(request, AT.uring_fd);
	start.registered = word(request, AT.uring_flags) & 1;
	start.flags = word(request, code == 3 ? AT.uring_sync_flags : AT.uring_rw_flags);
	if (map_update(&operations, &request, &start, 0))
		lose(LOST_OPERATION);
	return 0;
}

SEC("tp_btf/io_uring_submit_req")
int uring_submit_request(u64 *context)
{
	return uring_submit(context[0]);
}

// Its name before 6.4.
SEC("tp_btf/io_uring_submit_sqe")
int uring_submit_entry(u64 *context)
{
	return uring_submit(context[0]);
}

SEC("tp_btf/io_uring_complete")
int uring_complete(u64 *context)
{
	u64 request = context[1];
	struct operation_start *start = map_lookup(&operations, &request);
	if (!start)
		return 0;
	s64 result = AT.has_entry ? (int)word(context[2], AT.entry_result) : (int)context[3];
	send_operation(start, result, pointer(request, AT.uring_file));
	map_delete(&operations, &request);
	return 0;
}


// Time off the CPU between calls: asleep, or ready to run while others did.
SEC("tp_btf/sched_switch")
int sched_switch(u64 *context)
{
	u64 now_ns = time_ns();
	u32 id = word(context[1], AT.task_thread);
	struct thread *thread = thread_of(id);
	if (thread) {
		thread->out_ns = now_ns;
		thread->asleep = context[0] & 1 ? 0 : word(context[1], AT.task_state);
	}
	id = word(context[2], AT.task_thread);
	thread = thread_of(id);
	if (!thread)
		return 0;
	if (thread->out_ns) {
		u64 off_ns = now_ns - thread->out_ns;
		thread->off_ns += off_ns;
		if (thread->fault_ns && (thread->asleep & UNINTERRUPTIBLE))
			thread->fault_slept_ns += off_ns;
		else if (thread->asleep)
			thread->slept_ns += off_ns;
	} else if (!thread->free_ns && !thread->inside) {
		// A thread that was just made.
		thread->free_ns = now_ns;
	}
	thread->out_ns = 0;
	return 0;
}

// A thread that waits for another one in a futex is woken by it. An interrupt that wakes a sleeper has
// the thread as the current one that it interrupted: such a thread is in no futex.
INLINE int wakes_joined(struct thread *other, u64 ids, u32 process)
{
	// A thread that ends wakes those that join it, and may not be known any more.
	return other ? other->inside == TOGETHER : (u32)(ids >> 32) == process;
}

// A thread that waits for a socket, a pipe or a child is woken by one that sends, closes or ends. Packets
// that stay in the machine arrive while their sender still is in its call.
INLINE int wakes_peer(struct thread *other)
{
	if (!other)
		return word(current_task(), AT.task_flags) & EXITING;
	if (other->inside == PEER)
		return 1;
	u32 number = other->number;
	return other->inside == RECORDED &&
	       (number == WRITE || number == WRITEV || number == SENDFILE || number == SPLICE || number == CLOSE);
}

SEC("tp_btf/sched_waking")
int sched_waking(u64 *context)
{
	u64 task = context[0];
	u32 id = word(task, AT.task_thread);
	struct thread *thread = thread_of(id);
	if (!thread || !thread->inside || !thread->out_ns || !thread->asleep)
		return 0;
	// In a recorded call only waits for pipes and sockets can be interrupted, and those for locks.
	if (thread->inside == RECORDED && !(thread->asleep & INTERRUPTIBLE))
		return 0;
	u64 now_ns = time_ns(), ids = current_ids();
	u64 slept_ns = now_ns - thread->out_ns;
	if (slept_ns < LEAST_SLEEP_NS)
		return 0;
	u32 waker = (u32)ids, process = word(task, AT.task_process);
	struct thread *other = thread_of(waker);
	if (thread->inside == TOGETHER ? !wakes_joined(other, ids, process) : !wakes_peer(other))
		return 0;
	thread->awaited_ns += slept_ns;
	send_wake(WAKE, waker, now_ns, slept_ns, process, id);
	return 0;
}

INLINE void send_life(u32 type, u64 ids, u64 task, u32 is_last)
{
	void *to = ring();
	struct life_record *record = to ? ring_reserve(to, sizeof(*record), 0) : 0;
	if (!record) {
		lose(LOST_LIFE);
		return;
	}
	record->type = type;
	record->end_ns = time_ns();
	record->process = ids >> 32;
	record->thread = (u32)ids;
	record->is_last = is_last;
	record->other_process = word(task, AT.task_process);
	record->other_thread = word(task, AT.task_thread);
	read_kernel(record->name, 16, (void *)(task + AT.task_name));
	ring_submit(record, NO_WAKEUP);
}

SEC("tp_btf/sched_process_fork")
int process_fork(u64 *context)
{
	u64 ids = current_ids();
	if (!chosen(ids))
		return 0;
	u64 child = context[1];
	u32 id = word(child, AT.task_thread);
	struct thread fresh = {};
	if (remember(id, &fresh))
		lose(LOST_THREAD);
	u32 parent = ids >> 32, process = word(child, AT.task_process);
	struct ranges *known = process == parent ? 0 : map_lookup(&mapped, &parent);
	if (known && map_update(&mapped, &process, known, 0))
		lose(LOST_FAULT);
	send_life(FORK, ids, child, 0);
	return 0;
}

SEC("tp_btf/sched_process_exec")
int process_exec(u64 *context)
{
	u64 ids = current_ids();
	u32 now = (u32)ids, before = (u32)context[1];
	struct thread *thread = thread_of(before);
	if (!thread)
		return 0;
	if (now != before) {
		struct thread copy = *thread;
		if (remember(now, &copy))
			lose(LOST_THREAD);
		forget(before);
	}
	u32 process = ids >> 32;
	map_delete(&mapped, &process);
	send_life(EXEC, ids, context[0], 0);
	struct path_record *record = path_record(ids, time_ns(), FIRST);
	if (record) {
		void *name = (void *)pointer(context[2], AT.program_name);
		long length = read_kernel_str(record->bytes, PATH_BYTES, name);
		if (length > 0)
			send_path(record, (u32)length & 8191);
		else
			lose(UNREADABLE_PATH);
	}
	return 0;
}

SEC("tp_btf/sched_process_exit")
int process_exit(u64 *context)
{
	u64 ids = current_ids();
	u32 id = (u32)ids, process = ids >> 32;
	struct thread *thread = thread_of(id);
	if (!thread)
		return 0;
	// Of a thread that was killed.
	if (thread->fault_ns)
		end_fault(ids, thread);
	// The first thread may end before others, which keep the mappings and descriptors. Of two that
	// end at the same time, both may be the last.
	u32 is_last = !word(pointer(context[0], AT.task_signal), AT.signal_live);
	send_life(EXIT, ids, context[0], is_last);
	forget(id);
	if (is_last)
		map_delete(&mapped, &process);
	return 0;
}

INLINE u32 device_of(u64 request)
{
	// Before 5.15 the queue does not know its disk.
	u64 of = AT.disk_in_request ? request : pointer(request, AT.request_queue);
	u64 disk = pointer(of, AT.queue_disk);
	return disk ? (word(disk, AT.disk_major) << 20) | word(disk, AT.disk_minor) : 0;
}

INLINE int issue(u64 request)
{
	u32 device = device_of(request);
	if (!device)
		return 0;
	u64 one = 1;
	u64 *depth = map_lookup(&depths, &device);
	// A request that the driver gave back is issued again.
	if (map_lookup(&requests, &request))
		return 0;
	if (depth)
		__sync_fetch_and_add(depth, 1);
	else
		map_update(&depths, &device, &one, 0);
	struct request_start start = {};
	start.start_ns = time_ns();
	start.process = current_ids() >> 32;
	start.depth = depth ? (u32)*depth : 1;
	read_kernel(start.name, 16, (void *)(current_task() + AT.task_name));
	if (map_update(&requests, &request, &start, 0))
		lose(LOST_BLOCK);
	return 0;
}

SEC("tp_btf/block_rq_issue")
int block_issue(u64 *context)
{
	return issue(context[0]);
}

// Before 5.11 the tracepoint names the queue first.
SEC("tp_btf/block_rq_issue/after_queue")
int block_issue_after_queue(u64 *context)
{
	return issue(context[1]);
}

SEC("tp_btf/block_rq_complete")
int block_complete(u64 *context)
{
	u64 request = context[0];
	struct request_start *start = map_lookup(&requests, &request);
	if (!start)
		return 0;
	u32 device = device_of(request);
	u64 *depth = map_lookup(&depths, &device);
	if (depth && *depth)
		__sync_fetch_and_add(depth, -1);
	void *to = ring();
	struct block_record *record = to ? ring_reserve(to, sizeof(*record), 0) : 0;
	if (!record) {
		lose(LOST_BLOCK);
	} else {
		record->type = BLOCK;
		record->flags = word(request, AT.request_flags);
		record->end_ns = time_ns();
		record->start_ns = start->start_ns;
		record->process = start->process;
		record->device = device;
		record->sector = pointer(request, AT.request_sector);
		record->bytes = (u32)context[2];
		record->depth = start->depth;
		record->error = (int)context[1];
		__builtin_memcpy(record->name, start->name, 16);
		ring_submit(record, NO_WAKEUP);
	}
	map_delete(&requests, &request);
	return 0;
}

SEC("license") char terms[] = "Dual MIT/GPL";
