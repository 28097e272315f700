# Each mail by a process of its own: written, synced, linked to its place.
mkdir tmp new
nth=0
while [ $nth -lt 300 ]; do
	dd if=/dev/zero of=tmp/$nth bs=4k count=1 conv=fsync status=none
	ln tmp/$nth new/$nth
	rm tmp/$nth
	nth=$((nth + 1))
done
