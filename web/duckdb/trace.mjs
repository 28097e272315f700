// What DuckDB makes of the tables of a trace.
// usage: node trace.mjs DIRECTORY     prints one line of JSON per question
import { DuckDBInstance } from '@duckdb/node-api';

const [folder] = process.argv.slice(2);
const instance = await DuckDBInstance.create(':memory:');
const connection = await instance.connect();
const ask = async (sql) => {
  const rows = (await connection.runAndReadAll(sql)).getRows();
  console.log(JSON.stringify(rows, (_, value) => (typeof value === 'bigint' ? Number(value) : value)));
};
const from = (name) => `'${folder.replaceAll("'", "''")}/${name}-*.parquet'`;
for (const name of ['calls', 'files', 'processes', 'initial', 'requests']) {
  await ask(`select '${name}', count(*) from ${from(name)}`);
}
await ask(`select call, count(*), sum(duration_ns)::bigint, count("offset"), sum("offset")::bigint, sum(result)::bigint from ${from('calls')} group by call order by call`);
await ask(`select path, count(*) from ${from('calls')} join ${from('files')} using (file) group by path order by 2 desc, 1 limit 3`);
await ask(`select operation, flags, count(*), sum(bytes)::bigint, sum(sector)::bigint from ${from('requests')} group by all order by 1`);
await ask(`select path, content, compressed_percent from ${from('initial')}`);
await ask(`select process, parent, name from ${from('processes')} order by 1`);
connection.closeSync();
