# On a cluster of with-slurm, in a folder with lab.toml: scripts/with-slurm 2 bash submission.sh (SEEKWELL names the program).
# lab.toml: five filesystems, two mail workloads, 1,000 rounds: 10,000 trials.
ctld=$(cat $CLUSTER/slurmctld.own)
cpu() { awk '{print ($14+$15)}' /proc/$ctld/stat; }
calls() { sdiag | awk '/Remote Procedure Call statistics by message type/{on=1;next} /Remote Procedure Call statistics by user/{on=0} on&&NF{print $1,$3}' | sed 's/count://' ; }
i0=$(cpu); sleep 30; echo "idle 30 s: controller $(( $(cpu) - i0 )) ticks" 
sdiag --reset; t0=$(date +%s%N); c0=$(cpu)
$SEEKWELL run lab.toml --on slurm --nodes 2 --no-screen -o x.seekwell >out 2>talk & run=$!
until [ -n "$(squeue -h)" ] || ! kill -0 $run; do sleep 0.05; done
t1=$(date +%s%N)
until [ -n "$(ls x.seekwell.nodes/taken 2>/dev/null)" ] || ! kill -0 $run; do sleep 0.05; done
t2=$(date +%s%N)
awk -v a=$t0 -v b=$t1 -v c=$t2 'BEGIN{printf "array known to the controller after %.2f s, first trial taken after %.2f s\n",(b-a)/1e9,(c-a)/1e9}'
echo "offered $(ls x.seekwell.nodes/wanted | wc -l); lines of squeue $(squeue -h -r | wc -l)"
sdiag --reset; c1=$(cpu); s1=$(date +%s%N)
sleep 90
c2=$(cpu); s2=$(date +%s%N)
awk -v a=$c1 -v b=$c2 -v s=$s1 -v e=$s2 'BEGIN{printf "controller: %d ticks of 10 ms in %.1f s (%.3f %% of a CPU)\n",b-a,(e-s)/1e9,(b-a)/((e-s)/1e9)}'
echo "calls in these 90 s:"; sdiag | sed -n '/by message type/,/by user/p' | head -20
kill -INT $run; wait $run; echo status $?
