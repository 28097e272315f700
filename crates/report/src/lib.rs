//! A run as text for people and data for programs: terminal, JSON, CSV, Markdown, Parquet and one
//! HTML page; also the text of a plan and of a benchmark.
//!
//! Every form has the same order: the answer with its cost and its main doubt, the picture behind it, what
//! matters, the next command, and then everything else. Everything here is a
//! pure function from data to text. This room measures nothing, judges nothing and prints nothing.

mod answer_text;
mod atlas;
mod bench_text;
mod clusters;
mod compare_text;
mod csv;
mod devices;
mod evidence_text;
mod factor;
mod html;
mod json;
mod markdown;
mod model_error;
mod next_step;
mod noise;
mod number;
mod page;
mod parquet;
mod permanent;
mod plan_text;
mod program;
mod replay_check;
mod replication;
mod safety;
mod schema;
mod sentence;
mod stack_table;
mod terminal;
mod text;
mod traffic_text;
mod trial_ratios;
mod uncontrolled;
mod view;
mod watch_text;
mod why_text;

#[cfg(test)]
mod fixture;

pub use atlas::{
    Asked, Cell, Entry, SitePage, atlas_entries, atlas_lines, cell_fingerprint, comparison_key,
    is_near_value, is_same_value, questions_markdown, site,
};
pub use bench_text::bench_text;
pub use compare_text::{compare_markdown, compare_text};
pub use csv::csv;
pub use html::{ExtractError, HtmlPage, Inside, PageTrials, extract, has_program};
pub use json::write_json;
pub use markdown::markdown;
pub use next_step::{resume_command, resume_with, shell_word};
pub use parquet::{EachTrial, PARQUET_TABLES, ParquetTable, TableParts};
pub use permanent::{Applied, applied};
pub use plan_text::plan_text;
pub use replication::{
    ReplicationTable, replication_chart, replication_file, replication_markdown,
    replication_tables, replication_text,
};
pub use safety::loss_bound;
pub use schema::json_schema;
pub use sentence::decision_word;
pub use terminal::{Screen, terminal};
pub use text::is_harmful;
pub use view::{RunView, shown_metrics};
pub use watch_text::{WatchedLatency, columns_that_fit, iostat_columns, watch_header, watch_line};
pub use why_text::why_text;
