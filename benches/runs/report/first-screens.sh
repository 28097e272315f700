#!/bin/sh
# Writes the ten first screens next to this script: first-screens.sh PROGRAM RUNS
# RUNS is a folder with demo, interrupted and database .seekwell; README.md says how they are made.
set -eu
program=$(realpath "$1")
runs=$(realpath "$2")
here=$(dirname "$(realpath "$0")")
kept=$(realpath "$here/../replicate")
screen() {
    cd "$(dirname "$2")"
    "$program" report "$(basename "$2")" >"$here/first-screens/$1.txt"
}
mkdir -p "$here/first-screens"
screen 01-demo "$runs/demo.seekwell"
screen 02-interrupted "$runs/interrupted.seekwell"
screen 03-database "$runs/database.seekwell"
screen 04-many-stacks "$kept/000-iozone.seekwell"
screen 05-no-comparison "$kept/000-rrd-quick.seekwell"
screen 06-modelled-disk "$kept/004-mail-quick.seekwell"
screen 07-two-processes "$kept/000-desktop-freeze.seekwell"
screen 08-journal-on-a-stick "$kept/001-chunk.seekwell"
screen 09-random-reads "$kept/003-seekrw.seekwell"
screen 10-old-hosts "$kept/002-sweep-hosts.seekwell"
