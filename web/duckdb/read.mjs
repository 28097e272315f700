// What DuckDB makes of the tables of a run.
// usage: node read.mjs DIRECTORY     prints one line of JSON per question
import { DuckDBInstance } from '@duckdb/node-api';

const [folder] = process.argv.slice(2);
const instance = await DuckDBInstance.create(':memory:');
const connection = await instance.connect();
const ask = async (sql) => {
  const rows = (await connection.runAndReadAll(sql)).getRows();
  console.log(JSON.stringify(rows, (_, value) => (typeof value === 'bigint' ? Number(value) : value)));
};
const from = (name) => `'${folder.replaceAll("'", "''")}/${name}.parquet'`;
for (const name of ['trials', 'samples', 'timelines', 'histograms', 'events', 'run']) {
  await ask(`select '${name}', count(*) from ${from(name)}`);
}
await ask(`select distinct stack from ${from('trials')} order by 1`);
await ask(`select sum(count) from ${from('histograms')} where operation = 'read'`);
connection.closeSync();
