-- All trials of a run file, one line each:
--   sqlite3 -header -csv matrix.seekwell < export.sql | tr -d '\r' > trials.csv
SELECT a.trial,
       a.round,
       row_number() OVER (PARTITION BY a.round ORDER BY a.id) - 1 AS position,
       c.stack,
       substr(c.stack, 1, instr(c.stack, '/') - 1) AS "axis.filesystem",
       substr(c.stack, instr(c.stack, '/') + 1) AS "axis.scheduler",
       a.status,
       a.written_at,
       a.elapsed_ns,
       max(CASE WHEN m.step = 'unpack' AND m.metric = 'elapsed_durable' THEN m.value END) AS "unpack.elapsed_durable",
       max(CASE WHEN m.step = 'unpack' AND m.metric = 'elapsed' THEN m.value END) AS "unpack.elapsed"
FROM last_attempt a
JOIN candidate c ON c.id = a.candidate
JOIN metric m ON m.attempt = a.id
GROUP BY a.id
ORDER BY a.id;
