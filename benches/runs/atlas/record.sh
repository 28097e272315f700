# Makes an ext4 in an image, and records programs on it: sourced with SEEKWELL and FOLDER, as root.
set -eu
seekwell=$(realpath "$1")
traces=$(realpath "$2")
work=$(mktemp -d)
mounted=$work/mounted
chmod 711 "$work"
mkdir "$mounted"
truncate -s 4G "$work/image"
mkfs.ext4 -qF "$work/image"
mount -o loop "$work/image" "$mounted"
trap 'cd /; umount "$mounted" 2>/dev/null || umount -l "$mounted"; rm -rf "$work"' EXIT

record() { # NAME COMMAND...
	mkdir -p "$mounted/$1"
	cd "$mounted/$1"
	sync -f .
	"$seekwell" capture -o "$traces/$1.trace" --no-walk --path "$mounted/$1" -- "${@:2}" >"$work/$1.log" 2>&1 ||
		[ $? -eq 4 ] || { echo "$1: $(tail -1 "$work/$1.log")" >&2; }
}
