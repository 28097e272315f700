"""Prints the geometric means of the ratios of pairs.csv with 95 % intervals. usage: ratios.py pairs.csv"""

import csv
import math
import sys

# 97.5 % of Student's t by degrees of freedom.
T = {9: 2.262, 10: 2.228, 11: 2.201, 13: 2.160, 14: 2.145, 15: 2.131, 19: 2.093, 23: 2.069, 29: 2.045}

pairs = {}
for row in csv.DictReader(open(sys.argv[1])):
    pairs.setdefault(row["pair"], {})[row["side"]] = float(row["mib_per_s"])
for name, above, below in [
    ("ours / fio without preallocation", "ours", "same"),
    ("ours / fio as it is by default", "ours", "default"),
    ("fio without / fio with preallocation", "same", "default"),
]:
    logs = [math.log(one[above] / one[below]) for one in pairs.values()]
    mean = sum(logs) / len(logs)
    error = math.sqrt(sum((x - mean) ** 2 for x in logs) / (len(logs) - 1) / len(logs))
    half = T[len(logs) - 1] * error
    low, high = math.exp(mean - half), math.exp(mean + half)
    print(f"{name}: {math.exp(mean):.3f} ({low:.3f} to {high:.3f}; {len(logs)} pairs)")
