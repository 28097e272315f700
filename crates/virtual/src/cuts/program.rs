//! A sequence of calls as a C program.

use std::fmt::Write as _;

use seekwell_model::workloads::calls::{Call, CallKind};

#[cfg(test)]
mod tests;

const START: &str = r#"#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DO(call) do { if ((call) < 0) { perror(#call); exit(1); } } while (0)

static void write_at(const char *path, int byte, long at, long bytes)
{
	char *data = memset(malloc(bytes), byte, bytes);
	int fd = open(path, O_WRONLY);
	DO(pwrite(fd, data, bytes, at));
	close(fd);
	free(data);
}

static void allocate(const char *path, int mode, long at, long bytes)
{
	int fd = open(path, O_WRONLY);
	DO(fallocate(fd, mode, at, bytes));
	close(fd);
}

static void sync_path(const char *path, int (*call)(int))
{
	int fd = open(path, O_RDONLY);
	DO(call(fd));
	close(fd);
}

int main(void)
{
"#;

/// The program; `title` says what it shows.
#[must_use]
pub fn program(title: &str, calls: &[Call]) -> String {
    let mut text = format!(
        "/* {}\n   Run it in an empty directory of a new filesystem, cut the power at its end, mount and look. */\n{START}",
        title.replace("*/", "")
    );
    for (number, call) in (1..).zip(calls) {
        let _ = writeln!(text, "\t{};", statement(call, number));
    }
    text.push_str("\tputs(\"cut the power now\");\n\tpause();\n}\n");
    text
}

fn statement(call: &Call, number: u32) -> String {
    let Call { kind, path, to, at, bytes } = call;
    let allocate = |mode| format!("allocate(\"{path}\", {mode}, {at}, {bytes})");
    let two = |name| format!("DO({name}(\"{path}\", \"{}\"))", to.as_deref().unwrap_or_default());
    match kind {
        CallKind::Mkdir => format!("DO(mkdir(\"{path}\", 0755))"),
        CallKind::Rmdir => format!("DO(rmdir(\"{path}\"))"),
        CallKind::Creat => format!("DO(close(creat(\"{path}\", 0644)))"),
        CallKind::Write => format!("write_at(\"{path}\", {number}, {at}, {bytes})"),
        CallKind::Truncate => format!("DO(truncate(\"{path}\", {at}))"),
        CallKind::Allocate => allocate("0"),
        CallKind::Reserve => allocate("FALLOC_FL_KEEP_SIZE"),
        CallKind::Punch => allocate("FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE"),
        CallKind::Zero => allocate("FALLOC_FL_ZERO_RANGE"),
        CallKind::Link => two("link"),
        CallKind::Rename => two("rename"),
        CallKind::Unlink => format!("DO(unlink(\"{path}\"))"),
        CallKind::Fsync => format!("sync_path(\"{path}\", fsync)"),
        CallKind::Fdatasync => format!("sync_path(\"{path}\", fdatasync)"),
        CallKind::Sync => "sync()".to_owned(),
    }
}
