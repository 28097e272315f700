#!/bin/bash
# usage: PROGRAM=seekwell MADE=made_run TREE=checkout [MATRIX=run] [MIX=run] measure.sh > report.csv (example made_run of the package seekwell)
set -e
W=$(mktemp -d); cd $W
echo "name,trials,stacks,samples,operations,run_file_bytes,page_bytes,page_bytes_per_trial_above_2MB,lean_bytes,report_s,lean_s,markdown_csv_parquet_s,extract_s,ready_ms,first_trial_ms"
one() { # name stacks rounds samples operations [file]
  if [ -n "$6" ]; then cp "$6" run.seekwell; else rm -f run.seekwell; $MADE run.seekwell $2 $3 $4 $5; fi
  t() { local s=$(date +%s.%N); "$@" >/dev/null 2>&1; local e=$(date +%s.%N); echo "$e - $s" | bc; }
  rm -f page.html lean.html; a=$(t $PROGRAM report run.seekwell --html page.html); b=$(t $PROGRAM report run.seekwell --html lean.html --lean)
  c=$(t $PROGRAM report run.seekwell --markdown a.md --csv a.csv --parquet tables); rm -f out.seekwell; d=$(t $PROGRAM extract page.html -o out.seekwell); cmp out.seekwell run.seekwell
  n=$(sqlite3 run.seekwell 'select count(*) from last_attempt' 2>/dev/null || python3 -c "import sqlite3;print(sqlite3.connect('run.seekwell').execute('select count(*) from last_attempt').fetchone()[0])")
  r=$(stat -c %s run.seekwell); p=$(stat -c %s page.html); l=$(stat -c %s lean.html)
  m=$(node $TREE/web/test/browser/time.mjs /usr/bin/chromium $W/page.html)
  echo "$1,$n,$2,$4,$5,$r,$p,$(( (p-2000000)/n )),$l,$a,$b,$c,$d,$m"
}
one made-short 200 20 3 200
one made-5s 200 20 50 200
[ -n "$MATRIX" ] && one matrix 24 40 - - $MATRIX
[ -n "$MIX" ] && one mixed 9 6 - - $MIX
rm -rf $W
