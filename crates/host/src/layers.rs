//! Layers between device and filesystem: brought up from the catalogue's commands, and taken down in
//! the reverse order.
//!
//! Nothing here knows a layer by name: what differs is in the catalogue.

use crate::device::Device;
use crate::error::{Error, Result};
use crate::guard::{self, WriteToken};
use crate::layer_programs::{run, wait_for};
use crate::program;
use crate::sysfs::{System, write};
use crate::undo::Undo;
use crate::{added, memory};
use seekwell_model::layers::{
    Action, Below, Layer, LayerKind, Layers, Naming, Site, Watched, package_of,
};
use seekwell_model::units::Bytes;
use std::path::{Path, PathBuf};

mod names;

#[cfg(test)]
mod tests;

/// Layers are made anew, or brought up with the content that they have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// Anew.
    Make,
    /// With their content.
    Open,
    /// With what a power cut left of their content.
    Recover,
}

/// The lower end of layers.
#[derive(Clone, Copy, Debug)]
pub enum Lower<'a> {
    /// These devices.
    Devices(&'a [&'a WriteToken]),
    /// Disks in memory, so many, in the place of devices of this size.
    Memory {
        /// Number of the disks.
        count: u32,
        /// Size of the device that each replaces; 0 if it is unknown.
        size: Bytes,
    },
}

impl<'a> Lower<'a> {
    fn tokens(self) -> &'a [&'a WriteToken] {
        match self {
            Self::Devices(tokens) => tokens,
            Self::Memory { .. } => &[],
        }
    }
}

/// Layers that are up.
#[derive(Debug, Default)]
pub struct Assembled {
    /// Commands that brought them up, one text each.
    pub commands: Vec<String>,
    /// Actions that take each layer down, the last one first.
    close: Vec<Vec<Action>>,
    /// Kernel names of the disks that were added for layers.
    added: Vec<String>,
    /// Devices whose status tells whether a layer still works.
    watched: Vec<Watched>,
}

/// Devices for layers, in the order in which they are taken.
struct Supply<'a> {
    system: &'a System,
    how: How,
    devices: std::vec::IntoIter<Below>,
    fast: std::vec::IntoIter<Below>,
    index: usize,
    undo: &'a mut Undo,
    up: &'a mut Assembled,
}

impl Assembled {
    /// Brings layers up over their lower end and gives the right to write to the uppermost. What was
    /// brought up before an error is in `self`, for [`Self::take_down`]; what that cannot take down
    /// the undo list does.
    ///
    /// # Errors
    /// When a program or the kernel refuses a layer.
    pub fn bring_up(
        &mut self,
        system: &System,
        undo: &mut Undo,
        layers: &Layers,
        how: How,
        lower: Lower<'_>,
        fast: &[&WriteToken],
    ) -> Result<WriteToken> {
        let devices = lower.tokens();
        for token in devices.iter().chain(fast) {
            token.recheck()?;
        }
        if !guard::is_first_process(system) {
            names::note_images(system, undo, devices.iter().chain(fast).copied())?;
        }
        let below = |tokens: &[&WriteToken]| -> Result<Vec<Below>> {
            tokens.iter().map(|token| size_of(system, token.path())).collect()
        };
        let below_all = match lower {
            Lower::Devices(tokens) => below(tokens)?,
            Lower::Memory { count, size } => {
                vec![Below { node: String::new(), sectors: size.0 / 512 }; count as usize]
            }
        };
        let mut supply = Supply {
            system,
            how,
            devices: below_all.into_iter(),
            fast: below(fast)?.into_iter(),
            index: 0,
            undo,
            up: self,
        };
        let top = supply.build(&layers.parts)?;
        let all: Vec<&WriteToken> = devices.iter().chain(fast).copied().collect();
        Ok(guard::layered(system, Path::new(&top.node), &all, &self.added)?)
    }

    /// Looks whether every layer still does its work. Without that a trial measured something else.
    ///
    /// # Errors
    /// The first that does not, in words.
    pub fn check(&self, system: &System) -> Result<()> {
        for Watched { name, broken, meaning } in &self.watched {
            let arguments = ["status", name];
            let status = program::run(system, "dmsetup", package_of("dmsetup"), &arguments)?;
            if status.split_whitespace().any(|word| broken.contains(&word)) {
                let status = status.trim();
                return Err(Error::Argument(format!(
                    "the layer {name} stopped working ({status}): {meaning}"
                )));
            }
        }
        Ok(())
    }

    /// Takes every layer down, also after one that could not be.
    ///
    /// # Errors
    /// The first that could not be taken down.
    pub fn take_down(&mut self, system: &System) -> Result<()> {
        let mut done = Ok(());
        while let Some(actions) = self.close.pop() {
            for action in &actions {
                let acted = act(system, action);
                done = done.and(acted);
            }
        }
        done
    }
}

impl Supply<'_> {
    /// The device that these layers make, or the next plain one if there is no layer.
    fn build(&mut self, parts: &[Layer]) -> Result<Below> {
        let Some((top, lower)) = parts.split_last() else {
            return self.devices.next().ok_or_else(|| too_few("devices"));
        };
        let kind = top
            .find()
            .ok_or_else(|| Error::Argument(format!("no layer is called {}", top.kind)))?;
        let mut below = Vec::new();
        for _ in 0..top.devices.max(1) {
            below.push(self.build(lower)?);
        }
        let fast = match &top.fast {
            Some(_) => Some(self.fast.next().ok_or_else(|| too_few("second devices"))?),
            None => None,
        };
        let index = match kind.naming() {
            Naming::Added(control) => {
                self.fits_into_memory(kind, top, &below)?;
                let number = added::add(self.system, &control, self.undo)?;
                self.up.added.push(format!("{}{number}", control.prefix));
                number
            }
            // A kernel of our own has no other layers, and its names are those of earlier records.
            _ if guard::is_first_process(self.system) => self.index,
            naming => names::reserve(self.system, self.undo, naming)?.unwrap_or(self.index),
        };
        let site = Site { layer: top, index, below: &below, fast: fast.as_ref() };
        self.index += 1;
        self.bring_up(kind, &site)
    }

    /// On a machine with other work, a disk in memory takes no more than half of the memory.
    fn fits_into_memory(&self, kind: &dyn LayerKind, layer: &Layer, below: &[Below]) -> Result<()> {
        let device = Bytes(below.first().map_or(0, |below| below.sectors * 512));
        let needed = kind.usable(layer, device, None);
        if needed == Bytes(0) {
            return Err(Error::Argument(format!(
                "the size of the device that {} replaces is not known; give the layer a `size`",
                layer.kind
            )));
        }
        let half = memory::ram(self.system)?.map(|ram| Bytes(ram.0 / 2));
        match half.filter(|half| needed > *half && !guard::is_first_process(self.system)) {
            Some(available) => {
                Err(Error::NoSpace { needed, available, place: "half of the memory".to_owned() })
            }
            None => Ok(()),
        }
    }

    fn bring_up(&mut self, kind: &dyn LayerKind, site: &Site<'_>) -> Result<Below> {
        let actions = match self.how {
            How::Make => kind.make(site),
            How::Open => kind.open(site),
            How::Recover => kind.recover(site),
        };
        // In a kernel of our own, one that fails half-way is taken down as far as it came. On a
        // machine with other work its name may be another's, so the undo list looks closely first.
        let is_alone = guard::is_first_process(self.system);
        if is_alone {
            self.up.close.push(kind.close(site));
        }
        for action in &actions {
            self.up.commands.push(shown(action));
            act(self.system, action)?;
        }
        if !is_alone {
            self.up.close.push(kind.close(site));
        }
        self.up.watched.extend(kind.watched(site));
        let node = PathBuf::from(kind.node(site));
        wait_for(&node)?;
        size_of(self.system, &node)
    }
}

fn too_few(what: &str) -> Error {
    Error::Argument(format!(
        "the layers need more {what} than the request has; runner and agent must be the same release"
    ))
}

fn size_of(system: &System, node: &Path) -> Result<Below> {
    let device = Device::by_path(system, node);
    let sectors = device.and_then(|device| device.numeric("size")).ok_or_else(|| {
        Error::Argument(format!("sysfs does not say the size of {}", node.display()))
    })?;
    Ok(Below { node: node.display().to_string(), sectors })
}

/// An action as a line of a shell.
fn shown(action: &Action) -> String {
    match action {
        Action::Run { program, arguments, input } => {
            let words = std::iter::once(*program).chain(arguments.iter().map(String::as_str));
            let line = program::line(words);
            match input.trim_end() {
                "" => line,
                input => format!("{line} <<< {}", program::line(std::iter::once(input))),
            }
        }
        Action::Set { path, value } => format!("echo {value} > {path}"),
    }
}

fn act(system: &System, action: &Action) -> Result<()> {
    match action {
        Action::Set { path, value } => {
            let path = Path::new(path);
            wait_for(path)?;
            write(path, value)
        }
        Action::Run { program, arguments, input } => run(system, program, arguments, input),
    }
}
