//! Layers between device and filesystem.

use super::devices::backing;
use super::{Axis, Named, name_or, narrow, unique};
use crate::source::{Problem, Span, shorten};
use crate::walk::Checked;
use seekwell_model::layers::{
    Fast, Layer, LayerDefinition, Layers, MOST_LAYER_DEVICES, NO_LAYER, layer_kind,
};
use seekwell_model::units::Bytes;

/// The layer axis.
pub(super) fn layers(tables: &[Checked]) -> Result<Axis<Layers>, Problem> {
    if tables.is_empty() {
        return Ok(vec![Named { value: Layers::default(), span: None }]);
    }
    let mut axis = Vec::new();
    for table in tables {
        let mut parts = Vec::new();
        for table in std::iter::once(table).chain(table.tables("then")) {
            parts.extend(layer(table, parts.is_empty())?);
        }
        let name = name_or(table, || default_name(&parts))?;
        let value = Layers { name: name.value, parts };
        check_count(&value, table.span)?;
        let span = if table.has("name") { name.span } else { table.place("kind") };
        axis.push(Named { value, span });
    }
    unique("layers", axis.iter().map(|named| (named.value.name.as_str(), named.span)))?;
    Ok(axis)
}

/// One layer; `None` for the kind that is none.
fn layer(table: &Checked, lowest: bool) -> Result<Option<Layer>, Problem> {
    let name = table.values.text("kind").unwrap_or_default();
    let Some(kind) = layer_kind(name) else {
        return if name == NO_LAYER {
            nothing(table)
        } else {
            let message = format!("unknown layer \"{}\"", shorten(name, 40));
            Err(Problem::new(table.place("kind"), message, "write kind = \"raid1\""))
        };
    };
    let definition = kind.definition();
    let devices = narrow(table.values.integer("devices"));
    check_devices(definition, devices, table)?;
    if definition.is_volatile && !lowest {
        let message = format!("{name} takes the place of the device, so nothing can be below it");
        return Err(Problem::new(table.place("kind"), message, "write it as the first layer"));
    }
    let fast = match (table.table("fast"), definition.fast) {
        (Some(inner), Fast::No) => {
            let message = format!("{name} takes no second device");
            return Err(Problem::new(inner.span, message, "leave `fast` out"));
        }
        (None, Fast::Must(purpose)) => {
            let message = format!("{name} lacks `fast`: a second device that {purpose}");
            return Err(Problem::new(table.span, message, "write fast = { ram = \"256MiB\" }"));
        }
        (None, _) => None,
        (Some(inner), _) => match backing(inner)? {
            Some((backing, _)) => Some(backing),
            None => {
                let message = "`fast` does not say what the device is made from";
                let remedy =
                    "write fast = { model = \"NAME\" }, or another of loop, ram, disk, partition";
                return Err(Problem::new(inner.span, message, remedy));
            }
        },
    };
    check_sizes(table)?;
    Ok(Some(Layer::new(kind, devices, fast, &table.values)))
}

fn nothing(table: &Checked) -> Result<Option<Layer>, Problem> {
    for name in ["devices", "fast", "then"] {
        if let Some(place) = table.places.get(name) {
            let message = format!("`{name}` with kind = \"{NO_LAYER}\", which is no layer");
            return Err(Problem::new(place.key, message, format!("leave `{name}` out")));
        }
    }
    Ok(None)
}

fn check_devices(
    definition: &LayerDefinition,
    devices: Option<u32>,
    table: &Checked,
) -> Result<(), Problem> {
    let LayerDefinition { name, least_devices: least, most_devices: most, .. } = *definition;
    let Some(devices) = devices.filter(|devices| !(least..=most).contains(devices)) else {
        return Ok(());
    };
    let takes = if least == most { least.to_string() } else { format!("{least} to {most}") };
    let message = format!("{name} joins {takes} devices, not {devices}");
    let remedy = format!("write devices = {}", devices.clamp(least, most));
    Err(Problem::new(table.place("devices"), message, remedy))
}

/// Sizes of layers are powers of two, as all their kernels want them; those of a device may be any.
fn check_sizes(table: &Checked) -> Result<(), Problem> {
    for name in ["chunk", "sector"] {
        let Some(size) = table.values.size(name) else { continue };
        if size.0.is_power_of_two() && (name != "sector" || [512, 4096].contains(&size.0)) {
            continue;
        }
        let message = format!("`{name}` of {size} is not possible");
        let near = Bytes(size.0.next_power_of_two());
        let remedy = match name {
            "sector" => "write sector = 512 or sector = 4096".to_owned(),
            _ => format!("write a power of two, for example {name} = \"{near}\""),
        };
        return Err(Problem::new(table.place(name), message, remedy));
    }
    Ok(())
}

fn check_count(layers: &Layers, span: Option<Span>) -> Result<(), Problem> {
    let count = u64::from(layers.devices()) + layers.fast().len() as u64;
    if count <= u64::from(MOST_LAYER_DEVICES) {
        return Ok(());
    }
    let message =
        format!("the layers join {count} devices; at most {MOST_LAYER_DEVICES} are possible");
    Err(Problem::new(span, message, "join fewer devices"))
}

/// The kinds from below to above, with the number of devices where there are several.
fn default_name(parts: &[Layer]) -> String {
    if parts.is_empty() {
        return NO_LAYER.to_owned();
    }
    let name = |layer: &Layer| match layer.devices {
        0 | 1 => layer.kind.clone(),
        several => format!("{}[{several}]", layer.kind),
    };
    parts.iter().map(name).collect::<Vec<_>>().join("+")
}
