//! A worker on a node of a cluster.

use crate::error::SessionError;
use crate::guests::Guests;
use crate::host::{self, Host};
use crate::kept;
use crate::loaded::Session;
use crate::nodes::{OfGuests, Settings};
use crate::own_cpu::{CPUS, OwnCpu};
use crate::setup::Opened;
use seekwell_cluster::{Spool, Work, Worked, confirmed};
use seekwell_model::backend::Backend;
use seekwell_virtual::was_ended_by_host;
use std::path::Path;
use std::time::Duration;

/// Time between two looks for a session that is not there yet.
const LOOK: Duration = Duration::from_secs(1);

/// Time after which the scheduler has ended this worker too, if it ended the guest of its trial.
const UNTIL_KILLED: Duration = Duration::from_secs(5);

impl Session {
    /// Runs trials of another machine's run, as a worker on a node, until the run has no more. A worker
    /// that waits may be started before the run.
    ///
    /// # Errors
    /// When this node cannot run them or is not like the machine of the run, or the shared folder
    /// cannot be used.
    pub fn work(&self, folder: &Path, task: &str, wait: bool) -> Result<Worked, SessionError> {
        let (spool, work) = if wait { Spool::wait(folder, LOOK)? } else { Spool::open(folder)? };
        let settings: Settings =
            serde_json::from_value(work.settings.clone()).map_err(SessionError::Settings)?;
        let unit = settings.unit();
        let is_bound = matches!(&settings, Settings::Virtual(options) if options.own_cpu);
        // Before the first thread: all of them have the binding of this one.
        let own_cpu = is_bound.then(|| OwnCpu::bind(Path::new(CPUS)));
        let (mut backend, node, disks) = match settings {
            Settings::Virtual(options) => (self.guests(&options, &work, folder)?, None, None),
            Settings::Host(options) => {
                let machine = self.machine();
                let (backend, disks) = Host::on_node(machine, &work.plan, &options, &spool, task)?;
                (backend, Some(host::node(&machine.system)), Some(disks))
            }
        };
        let ran = seekwell_cluster::work(&spool, task, unit, &mut |trial| {
            let mut once = || backend.run(&work.plan, trial, &mut |_| {});
            let is_repeatable = node.is_none();
            let mut record = if is_repeatable {
                confirmed(UNTIL_KILLED, was_ended_by_host, &mut once)?
            } else {
                once()?
            };
            if node.is_some() {
                record.in_force.node.clone_from(&node);
            }
            Ok(record)
        });
        let put_back = backend.finish();
        drop((disks, own_cpu));
        let ran = ran?;
        put_back.map_err(SessionError::PutBack)?;
        Ok(ran)
    }

    /// The guests of a node that is like the machine of the run.
    fn guests(
        &self,
        options: &OfGuests,
        work: &Work,
        folder: &Path,
    ) -> Result<Box<dyn Backend>, SessionError> {
        let mut guests = Guests::setup(self, &options.options()?)?;
        guests.recall(&work.environment, folder)?;
        let Opened { backend, environment, .. } = guests.open(&work.plan, folder)?;
        match kept::difference(&work.environment, &environment) {
            Some(difference) => Err(SessionError::Unusable(format!(
                "this node differs from the machine of the run: {difference}; install the same packages, the same \
                 seekwell and the same lab kernel on both"
            ))),
            None => Ok(backend),
        }
    }
}
