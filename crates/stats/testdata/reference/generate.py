"""Reference values for the statistics, by SciPy and NumPy: `python3 generate.py > reference.csv`.

One line per random input: the sample, then what SciPy says about it. The Rust test reads the file
and needs no Python. Written with SciPy 1.17 and NumPy 2.4; numbers are in the shortest form that
reads back exactly.
"""

import numpy as np
from scipy import optimize, special, stats

INPUTS = 1000


def walsh(x):
    i, j = np.triu_indices(len(x))
    return np.median((x[i] + x[j]) / 2)


def neumann(x):
    """One-sided p of von Neumann's ratio, normal approximation."""
    n = len(x)
    ratio = np.sum(np.diff(x) ** 2) / np.sum((x - x.mean()) ** 2)
    return stats.norm.cdf((ratio - 2) / np.sqrt(4 * (n - 2) / (n**2 - 1)))


def bca(x, error):
    """Both ends of BCa with the saddlepoint approximation of the resampled mean, root by brentq.

    NaN below 20 values, where an end lies at the outermost value, or where the root is too close
    to the centre for a comparison of digits (the approximation is interpolated there).
    """
    n = len(x)
    if n < 20:
        return np.nan, np.nan
    scale = x.std()
    z = (x - x.mean()) / scale
    bias = accel = np.mean(z**3) / (6 * np.sqrt(n))

    def tilted(t):
        w = special.softmax(t * z)
        at = np.sum(w * z)
        var = np.sum(w * (z - at) ** 2)
        k = special.logsumexp(t * z) - np.log(n)
        r = np.sign(t) * np.sqrt(2 * n * (t * at - k))
        return at, r, r + np.log(t * np.sqrt(n * var) / r) / r

    ends = []
    for q in (stats.norm.ppf(error / 2), -stats.norm.ppf(error / 2)):
        shifted = bias + q
        score = bias + shifted / (1 - accel * shifted)
        sign = 1.0 if score > bias else -1.0
        grid = sign * 0.05 * 1.25 ** np.arange(30)
        reached = np.array([sign * tilted(t)[2] for t in grid])
        beyond = np.nonzero(reached >= sign * score)[0]
        if len(beyond) == 0 or beyond[0] == 0 or np.any(np.diff(reached[: beyond[0] + 1]) <= 0):
            return np.nan, np.nan
        inner, outer = grid[beyond[0] - 1], grid[beyond[0]]
        t = optimize.brentq(lambda t: tilted(t)[2] - score, inner, outer, xtol=1e-15, rtol=1e-14)
        ends.append(x.mean() + scale * tilted(t)[0])
    return ends


def line(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(6, 60))
    shape = rng.integers(0, 4)
    if shape == 0:
        x = rng.normal(rng.uniform(-2, 2), 10 ** rng.uniform(-3, 1), n)
    elif shape == 1:
        x = rng.lognormal(0, rng.uniform(0.1, 1.5), n)
    elif shape == 2:
        x = (rng.random(n) < 0.3) * 0.2 + rng.normal(0, 0.02, n)
    else:
        x = rng.integers(0, 6, n).astype(float)
        x[0] = 7.0  # never constant
    m = int(rng.integers(3, 40))
    y = rng.normal(x.mean(), x.std() + 0.1, m)
    if shape == 3:
        y = np.round(y)
    error = float(10 ** rng.uniform(-5, -0.5))
    t = stats.t.interval(1 - error, n - 1, loc=x.mean(), scale=stats.sem(x))
    u = stats.mannwhitneyu(x, y, alternative="two-sided").statistic
    p = float(rng.random() ** 4)
    df = float(rng.uniform(1, 200))
    z = float(rng.normal(0, 3))
    f, d1 = float(rng.uniform(0.01, 20)), float(rng.integers(1, 30))
    slope = stats.linregress(np.arange(n), x)
    numbers = [
        error,
        x.mean(),
        x.std(ddof=1),
        np.median(x),
        np.quantile(x, 0.9),
        stats.skew(x),
        t[0],
        t[1],
        walsh(x),
        u / (n * m),
        neumann(x),
        slope.slope,
        slope.pvalue,
        p,
        stats.norm.ppf(p),
        df,
        stats.t.isf(p, df),
        z,
        stats.norm.cdf(z),
        stats.t.sf(z, df),
        f,
        d1,
        stats.f.sf(f, d1, df),
        special.digamma(df),
        special.polygamma(1, df),
        *bca(x, error),
    ]
    return [repr(float(v)) for v in numbers], [repr(float(v)) for v in x], [repr(float(v)) for v in y]


print("# numbers; x; y - see generate.py for the order")
for seed in range(INPUTS):
    print(";".join(" ".join(part) for part in line(seed)))
