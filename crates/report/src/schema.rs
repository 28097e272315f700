//! The JSON of a run as a JSON Schema, read off the definitions themselves: what the fields of the
//! model are is asked of their deserialisers, so that the two cannot drift.

use seekwell_model::FORMAT;
use seekwell_model::lab::Better;
use seekwell_model::origin::OriginKind;
use seekwell_model::plan::LeftOut;
use seekwell_model::record::{DeviceTotals, InForce};
use seekwell_model::replay_check::{OffPart, ReplayComparison};
use seekwell_model::stack::{Backing, DataMode, MemoryLimit, Stack, WriteBack, WriteCache};
use seekwell_model::verdict::{
    Basis, Decision, DurabilityClass, NodeStanding, Verdict, VerdictKind,
};
use seekwell_model::warning::Warning;
use seekwell_model::why::Why;
use serde_json::{Map, Value, json};
use serde_reflection::{
    ContainerFormat, Format, Named, Registry, Samples, Tracer, TracerConfig, VariantFormat,
};

/// The schema of [`crate::write_json`] (JSON Schema 2020-12) as pretty JSON, ended by a line break.
#[must_use]
pub fn json_schema() -> String {
    let schema = match registry() {
        Ok(registry) => schema(&registry),
        // Then the committed schema differs, and the check of the documents says so.
        Err(error) => json!({ "error": error.to_string() }),
    };
    format!("{schema:#}\n")
}

fn registry() -> serde_reflection::Result<Registry> {
    let mut tracer = Tracer::new(TracerConfig::default());
    let samples = Samples::new();
    macro_rules! trace {
        ($($kind:ty),+ $(,)?) => { $(tracer.trace_type::<$kind>(&samples)?;)+ };
    }
    // Each enumeration by itself: of one inside another type only one variant would be seen.
    trace!(
        Backing,
        WriteCache,
        DataMode,
        WriteBack,
        MemoryLimit,
        VerdictKind,
        Decision,
        Better,
        Basis,
        DurabilityClass,
        NodeStanding,
        OriginKind,
        Stack,
        Verdict,
        Warning,
        LeftOut,
        Why,
        OffPart,
        ReplayComparison,
        InForce,
        DeviceTotals,
    );
    tracer.registry()
}

/// Fields of stacks with layers, overlays or NFS, and of runs on the nodes of a cluster, which others do not have.
const OF_SOME_STACKS: [(&str, &str); 14] = [
    ("Memory", "vm"),
    ("Verdict", "answer"),
    ("Stack", "layers"),
    ("InForce", "members"),
    ("InForce", "layers"),
    ("InForce", "node"),
    ("Evidence", "nodes"),
    ("Filesystem", "nfs"),
    ("Overlay", "upper"),
    ("Nfs", "rsize"),
    ("Nfs", "wsize"),
    ("Filesystem", "export"),
    ("Export", "rsize"),
    ("Export", "wsize"),
];

fn schema(registry: &Registry) -> Value {
    let mut definitions: Map<String, Value> =
        registry.iter().map(|(name, container)| (name.clone(), of_container(container))).collect();
    for (name, field) in OF_SOME_STACKS {
        let required = definitions.get_mut(name).and_then(|one| one["required"].as_array_mut());
        if let Some(required) = required {
            required.retain(|known| known != field);
        }
    }
    definitions.insert("Trial".to_owned(), trial());
    definitions.insert("Step".to_owned(), step());
    definitions.insert("Latency".to_owned(), latency());
    definitions.insert("Permanent".to_owned(), permanent());
    let mut root = object(vec![
        ("format", json!({ "type": "string", "pattern": "^[0-9]+\\.[0-9]+$" })),
        ("lab", text()),
        ("question", text()),
        ("seed", whole()),
        ("backend", text()),
        ("place", text()),
        ("environment", json!({ "type": "object" })),
        ("stacks", list(reference("Stack"))),
        ("verdict", reference("Verdict")),
        ("answer", nullable(reference("Answer"))),
        ("replay_checks", list(replay_check())),
        ("why", nullable(reference("Why"))),
        ("warnings", list(reference("Warning"))),
        ("left_out", list(reference("LeftOut"))),
        ("uncontrolled", list(text())),
        ("on_device", nullable(on_device())),
        ("permanent", list(reference("Permanent"))),
        ("trials", list(reference("Trial"))),
    ]);
    let title = format!("A run of Seekwell, format {FORMAT}");
    let about = "The output of `seekwell report --json`. Names are added to and never renamed: a \
                 reader ignores fields that it does not know, and refuses a newer major format. \
                 What is not known is null, never 0.";
    if let Some(root) = root.as_object_mut() {
        root.insert("$schema".to_owned(), json!("https://json-schema.org/draft/2020-12/schema"));
        root.insert("title".to_owned(), json!(title));
        root.insert("description".to_owned(), json!(about));
        root.insert("$defs".to_owned(), Value::Object(definitions));
    }
    root
}

/// The verdict with the known errors of the models.
fn on_device() -> Value {
    object(vec![
        ("holds", json!({ "type": ["boolean", "null"] })),
        ("low", nullable(number())),
        ("high", nullable(number())),
        ("sentences", list(text())),
    ])
}

/// A replay compared with its program before the trials; `reason` says why there is none.
fn replay_check() -> Value {
    object(vec![
        ("workload", text()),
        ("ratio", nullable(number())),
        ("off", nullable(reference("OffPart"))),
        ("fewer_syncs_ratio", nullable(number())),
        ("measured", nullable(reference("ReplayComparison"))),
        ("reason", nullable(text())),
        ("sentence", text()),
    ])
}

fn trial() -> Value {
    let mut trial = object(vec![
        ("index", whole()),
        ("stack", nullable(text())),
        ("workload", nullable(text())),
        ("round", whole()),
        ("part", json!({ "enum": ["pilot", "screen", "final", null] })),
        ("seed", whole()),
        ("status", json!({ "enum": ["ok", "marked", "failed"] })),
        ("metrics", json!({ "type": "object", "additionalProperties": { "type": "number" } })),
        ("fingerprint", nullable(text())),
        ("elapsed_ns", whole()),
        ("clock_cost_ns", nullable(number())),
        ("others_cpu_percent", nullable(number())),
        ("in_force", reference("InForce")),
        ("steps", list(reference("Step"))),
        ("smart", json!({ "type": ["object", "null"] })),
        ("warnings", list(reference("Warning"))),
    ]);
    // Only of a trial that failed.
    trial["properties"]["stage"] = text();
    trial["properties"]["reason"] = text();
    trial
}

fn step() -> Value {
    let latencies = json!({
        "type": "object",
        "additionalProperties": nullable(reference("Latency")),
    });
    object(vec![
        ("name", text()),
        ("started_ns", whole()),
        ("ended_ns", whole()),
        ("device", nullable(reference("DeviceTotals"))),
        ("journal", nullable(reference("DeviceTotals"))),
        ("latency_ns", latencies),
        ("settings", json!({ "type": "object", "additionalProperties": { "type": "string" } })),
        ("warnings", list(reference("Warning"))),
    ])
}

fn latency() -> Value {
    let percentiles = ["min", "p50", "p90", "p99", "p999", "p9999", "p99999", "max"];
    let mut fields = vec![("count", whole()), ("mean", nullable(number()))];
    fields.extend(percentiles.map(|name| (name, nullable(whole()))));
    object(fields)
}

fn permanent() -> Value {
    let step = object(vec![("purpose", text()), ("lines", list(text()))]);
    object(vec![
        ("stack", text()),
        ("steps", list(step)),
        ("notes", list(text())),
        ("back", list(text())),
    ])
}

fn of_container(container: &ContainerFormat) -> Value {
    match container {
        ContainerFormat::UnitStruct => json!({ "type": "null" }),
        ContainerFormat::NewTypeStruct(inner) => of(inner),
        ContainerFormat::TupleStruct(parts) => tuple(parts),
        ContainerFormat::Struct(fields) => of_fields(fields),
        ContainerFormat::Enum(variants) => {
            let words: Option<Vec<&str>> = variants
                .values()
                .map(|one| matches!(one.value, VariantFormat::Unit).then_some(one.name.as_str()))
                .collect();
            match words {
                Some(words) => json!({ "enum": words }),
                None => json!({ "anyOf": variants.values().map(variant).collect::<Vec<_>>() }),
            }
        }
    }
}

/// A variant as serde writes it: its name alone, or an object with its name as the one key.
fn variant(one: &Named<VariantFormat>) -> Value {
    let inner = match &one.value {
        VariantFormat::Unit | VariantFormat::Variable(_) => return json!({ "const": one.name }),
        VariantFormat::NewType(inner) => of(inner),
        VariantFormat::Tuple(parts) => tuple(parts),
        VariantFormat::Struct(fields) => of_fields(fields),
    };
    json!({
        "type": "object",
        "properties": { one.name.as_str(): inner },
        "required": [one.name],
    })
}

fn of_fields(fields: &[Named<Format>]) -> Value {
    object(fields.iter().map(|field| (field.name.as_str(), of(&field.value))).collect())
}

fn of(format: &Format) -> Value {
    match format {
        Format::TypeName(name) => reference(name),
        Format::Unit | Format::Variable(_) => json!({ "type": "null" }),
        Format::Bool => json!({ "type": "boolean" }),
        Format::I8 | Format::I16 | Format::I32 | Format::I64 | Format::I128 => {
            json!({ "type": "integer" })
        }
        Format::U8 | Format::U16 | Format::U32 | Format::U64 | Format::U128 => whole(),
        // What is infinite or no number becomes null.
        Format::F32 | Format::F64 => nullable(number()),
        Format::Char | Format::Str => text(),
        Format::Bytes => list(whole()),
        Format::Option(inner) => nullable(of(inner)),
        Format::Seq(inner) => list(of(inner)),
        Format::Map { value, .. } => {
            json!({ "type": "object", "additionalProperties": of(value) })
        }
        Format::Tuple(parts) => tuple(parts),
        Format::TupleArray { content, size } => {
            json!({ "type": "array", "items": of(content), "minItems": size, "maxItems": size })
        }
    }
}

fn object(fields: Vec<(&str, Value)>) -> Value {
    let names: Vec<&str> = fields.iter().map(|(name, _)| *name).collect();
    let names = json!(names);
    let properties: Map<String, Value> =
        fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    json!({ "type": "object", "properties": properties, "required": names })
}

fn tuple(parts: &[Format]) -> Value {
    let items: Vec<Value> = parts.iter().map(of).collect();
    json!({ "type": "array", "prefixItems": items })
}

fn list(items: Value) -> Value {
    json!({ "type": "array", "items": items })
}

fn nullable(value: Value) -> Value {
    match value.get("type").and_then(Value::as_str) {
        Some(kind) if value.as_object().is_some_and(|object| object.len() == 1) => {
            json!({ "type": [kind, "null"] })
        }
        _ => json!({ "anyOf": [value, { "type": "null" }] }),
    }
}

fn reference(name: &str) -> Value {
    json!({ "$ref": format!("#/$defs/{name}") })
}

fn text() -> Value {
    json!({ "type": "string" })
}

fn number() -> Value {
    json!({ "type": "number" })
}

fn whole() -> Value {
    json!({ "type": "integer", "minimum": 0 })
}

#[cfg(test)]
mod tests;
