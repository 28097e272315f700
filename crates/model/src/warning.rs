//! Doubts about a result, and the catalogue of everything that can be doubted.
//!
//! A warning is made by [`Warning::new`], which takes an entry of the catalogue: a code that is not
//! in [`WARNINGS`] cannot be made. `docs/warnings.md` is generated from it.

use serde::{Deserialize, Serialize};

/// A doubt about a result. Codes are stable; texts may change.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Warning {
    /// The stable code, for example `served-from-cache`. A run file of a newer version may hold one
    /// that is not in [`WARNINGS`].
    pub code: String,
    /// The observation, with its values.
    pub text: String,
    /// The next step for the user.
    pub remedy: String,
}

impl Warning {
    /// A warning with the remedy of the catalogue.
    pub fn new(code: WarningCode, text: impl Into<String>) -> Self {
        let definition = code.definition();
        Self {
            code: definition.code.to_owned(),
            text: text.into(),
            remedy: definition.remedy.to_owned(),
        }
    }

    /// Replaces the catalogue's remedy by one that names the values of this case.
    #[must_use]
    pub fn with_remedy(self, remedy: impl Into<String>) -> Self {
        Self { remedy: remedy.into(), ..self }
    }

    /// Returns true for a warning of this code.
    #[must_use]
    pub fn is(&self, code: WarningCode) -> bool {
        self.code == code.definition().code
    }

    /// The entry of the catalogue; `None` for a code of another version.
    #[must_use]
    pub fn definition(&self) -> Option<&'static WarningDefinition> {
        WARNINGS.iter().find(|definition| definition.code == self.code)
    }

    /// Returns true if a trial with this warning is kept but not ranked.
    #[must_use]
    pub fn keeps_from_ranking(&self) -> bool {
        self.definition().is_some_and(|definition| definition.severity == Severity::NotRanked)
    }
}

/// The consequence of a warning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The result is valid; the warning explains it.
    Note,
    /// The result is ranked, and may mean something else than it seems to.
    Doubt,
    /// The trial is kept and reported, and takes no part in the ranking.
    NotRanked,
    /// A value is missing.
    Missing,
}

impl Severity {
    /// The word in documents.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Doubt => "doubt",
            Self::NotRanked => "not ranked",
            Self::Missing => "missing",
        }
    }

    /// The consequence in one sentence.
    #[must_use]
    pub fn doc(self) -> &'static str {
        match self {
            Self::Note => "The result is valid; the warning explains it.",
            Self::Doubt => "The result is ranked. Read the warning before you rely on it.",
            Self::NotRanked => "The trial is kept and reported, but not ranked.",
            Self::Missing => "A value or a trial is missing from the result.",
        }
    }

    /// Every severity, mildest first.
    pub const ALL: [Self; 4] = [Self::Note, Self::Doubt, Self::NotRanked, Self::Missing];
}

/// The time at which a warning is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// Before anything runs: about the lab.
    Plan,
    /// While the stack is set up and torn down.
    Stack,
    /// In a step of a workload.
    Step,
    /// From all records of a run.
    Run,
}

impl Phase {
    /// The heading in documents.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::Plan => "Of a lab, before it runs",
            Self::Stack => "Of a stack",
            Self::Step => "Of a step",
            Self::Run => "Of a run",
        }
    }

    /// Every phase in order.
    pub const ALL: [Self; 4] = [Self::Plan, Self::Stack, Self::Step, Self::Run];
}

/// An entry of the catalogue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WarningDefinition {
    /// The stable code.
    pub code: &'static str,
    /// Phase in which it is raised.
    pub phase: Phase,
    /// Its consequence.
    pub severity: Severity,
    /// Its meaning in one or two sentences.
    pub meaning: &'static str,
    /// The next step for the user, where a case has no more specific one.
    pub remedy: &'static str,
}

macro_rules! warnings {
    ($($name:ident $code:literal $phase:ident $severity:ident $meaning:literal $remedy:literal)*) => {
        /// Every warning that Seekwell can give.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum WarningCode {
            $(#[doc = $meaning] $name,)*
        }

        /// The catalogue, in the order of [`WarningCode`].
        pub const WARNINGS: &[WarningDefinition] = &[$(WarningDefinition {
            code: $code,
            phase: Phase::$phase,
            severity: Severity::$severity,
            meaning: $meaning,
            remedy: $remedy,
        }),*];
    };
}

impl WarningCode {
    /// The entry of the catalogue.
    #[must_use]
    pub fn definition(self) -> &'static WarningDefinition {
        &WARNINGS[self as usize]
    }
}

warnings! {
    UnusedValue "unused-value" Plan Note
        "A value of an axis is in no stack."
        "read the reasons in the list of left-out stacks, or remove the value from the lab"
    NotAvailable "not-available" Plan Missing
        "The machine lacks a filesystem, a scheduler or a program that the lab names. Its stacks are left out; the others run."
        "install it, or take it out of the lab"
    LargeLab "large-lab" Plan Doubt
        "The lab has so many stacks or so much data that even one trial of each takes long and wears a disk."
        "write shorter axes, less data, or stacks_only = true and the [[stack]]s that matter"
    OneStack "one-stack" Plan Doubt
        "Only one stack is left, so there is nothing to compare."
        "add a second value to an axis"
    SameSettings "same-settings" Plan Note
        "Two values of an axis differ in name only: any difference between them is chance."
        "keep both to see how large chance is (an A/A test), or take one out"
    WorkloadNotJudged "workload-not-judged" Plan Note
        "The judged metric does not exist for a workload or a stack. Its numbers are kept."
        "its numbers are kept; judge it in a lab of its own"
    JudgedWithoutDurability "judged-without-durability" Plan Doubt
        "A writing step is judged when its last call returns. By then part of the data may be in memory only."
        "judge elapsed_durable"
    JudgedByFixedTime "judged-by-fixed-time" Plan Doubt
        "The judged step runs for a fixed time, so its elapsed time is the same on every stack."
        "judge iops, or set count instead of time"
    DataSetInMemory "data-set-in-memory" Plan Doubt
        "The data fits into memory, so the page cache may answer instead of the device."
        "use more data, or a smaller [memory] limit"
    DeviceNearlyFull "device-nearly-full" Plan Doubt
        "The data fills the device almost completely. Filesystems slow down and fragment then."
        "make the device at least a quarter larger than the data"
    DeviceSmallForFilesystem "device-small-for-filesystem" Plan Doubt
        "The device is so small that this filesystem behaves differently than on a larger one."
        "make the device larger"
    MemoryV1 "memory-v1" Stack Doubt
        "The memory limit is a version 1 cgroup, which does not limit write-back."
        "boot with systemd.unified_cgroup_hierarchy=1 to limit write-back too"
    QueueSetting "queue-setting" Stack Doubt
        "A queue setting of the lab is not in force: the device does not have it or the kernel changed the value."
        "compare only stacks with the same value in force, or ask for one that the device takes"
    FrozenPopulate "frozen-populate" Stack Note
        "The filesystem and its files were made once per stack; every trial starts from a copy. All rounds share one layout."
        "leave out [trial] freeze to have a new layout in every round"
    VirtualCpuFree "virtual-cpu-free" Stack Note
        "Virtual time does not count CPU time. System calls, copies and schedulers cost nothing, so a fast device is never slowed by them."
        "charge system calls and copies: seekwell kernel calibrate measures their cost on this machine"
    NoTimeline "no-timeline" Stack Missing
        "The sampling thread ended early, so the trial has no timeline."
        "report this as a defect, with the trial's record"
    TimelineEnded "timeline-ended" Stack Missing
        "The timeline ends before the trial: the device's counters could not be read any more."
        "check the kernel log for the device, then run the trial again"
    TimelineLate "timeline-late" Stack Note
        "Many samples of the timeline were taken late; each covers a longer interval."
        "leave one more CPU free, or sample less often (sample_interval)"
    NoBlockEvents "no-block-events" Stack Missing
        "The stream of block events ended early."
        "run the trial again"
    SettingNotRestored "setting-not-restored" Stack Doubt
        "A setting of a device that the run used differs from before the run."
        "set it back by hand, and report this with the run file"
    SettingChangedByOthers "setting-changed-by-others" Stack Doubt
        "Another program changed a setting of a device that the run used, after Seekwell had restored it."
        "set it back by hand if need be, find the program (tuned, a udev rule), and run again without it"
    SettingChangedElsewhere "setting-changed-elsewhere" Stack Note
        "A setting of another device, or a sysctl, changed during the run."
        "nothing: this run did not touch that device"
    FsckDamage "fsck-damage" Stack NotRanked
        "The filesystem's checker found damage after a clean unmount."
        "do not use this stack; report it to its developers"
    FsckTornDamage "fsck-torn-damage" Stack Doubt
        "Of earlier versions: the filesystem's checker found damage after a simulated crash and the mount that recovers from it."
        "do not use this stack; report it to its developers"
    NotTorn "not-torn" Stack Missing
        "Of earlier versions: the crash of `fsck_torn` could not be simulated on this stack."
        "cut the power on the virtual backend"
    SyncedDataLost "synced-data-lost" Stack Doubt
        "A power cut on the virtual backend lost data for which a sync had returned."
        "do not keep data on this stack that a power cut must not lose"
    FilesystemLost "filesystem-lost" Stack Doubt
        "A power cut on the virtual backend left a filesystem that cannot be mounted, read or unmounted."
        "do not keep data on this stack that a power cut must not lose; its checker may save some of it"
    PowerCutDamage "power-cut-damage" Stack Doubt
        "The filesystem's checker found damage after a power cut and the mount that recovers from it."
        "run the checker before mounting this stack after a power cut"
    NoPowerCuts "no-power-cuts" Stack Missing
        "The power of this stack could not be cut."
        "see the reason; raw stacks and stacks whose files do not fit have no power cuts"
    ImageChanged "image-changed" Stack NotRanked
        "The layout of a scratch image changed during the trial. The trial measured the filesystem below the image too."
        "use a scratch directory whose filesystem writes in place, and no discard unless it is the axis"
    ServedFromCache "served-from-cache" Step NotRanked
        "Data that should have been read from the device came from the page cache."
        "read with cache = \"direct\", or more data than the memory holds"
    ReadAmplified "read-amplified" Step Doubt
        "The device read much more than the workload did."
        "lower read_ahead_kb, or read in blocks at least as large as the filesystem's; if other processes use the device, stop them"
    WriteAbsorbed "write-absorbed" Step Doubt
        "The device received much less data than the workload wrote."
        "data was overwritten or removed in memory, compressed, or kept in an overlay: judge a step that ends with its data on the device, or use incompressible data"
    WriteAmplified "write-amplified" Step Doubt
        "The device received much more data than the workload wrote."
        "look at data=journal, at writes smaller than a block, and at fsync after each; the device wears faster by this factor"
    NotDurable "not-durable" Step Doubt
        "Written data was still in memory when the clock stopped."
        "judge elapsed_durable"
    TooShort "too-short" Step Doubt
        "The measurement took a fraction of a second. Such a result is mostly chance."
        "let it run longer, for example with --time 5s"
    NotSteady "not-steady" Step NotRanked
        "Of earlier versions: the step did not reach the steady state that the lab asked for."
        "give the step more time, or fill the device before it"
    RateNotKept "rate-not-kept" Step Doubt
        "The workload could not keep the requested rate."
        "lower the rate until it is kept"
    DeviceBusy "device-busy" Step Doubt
        "Other processes used the device before it was measured."
        "stop the processes that use the device and try again; seekwell watch shows their requests"
    SparseFile "sparse-file" Step Doubt
        "Part of the file is holes or was never written. Reading it returns zeros without the device."
        "write the file in full first, for example with dd or cp --sparse=never"
    MetadataCached "metadata-cached" Step Doubt
        "File data was dropped from the cache before a cold step; names and inodes were not."
        "run as root, or in a lab, which remounts"
    PartlyCached "partly-cached" Step Doubt
        "Pages of the device that another process uses may have stayed in the cache before a cold step."
        "run as root"
    SourceBound "source-bound" Step Doubt
        "Making the files' data took a large part of the time of unpacking them."
        "compare reading and removing, or use a device slower than memory"
    NotFragmented "not-fragmented" Step Doubt
        "Aging did not reach the number of extents per file that the lab asks for."
        "raise churn or fullness, or ask for fewer extents"
    WrongCapacity "wrong-capacity" Step Doubt
        "The device lost data that was written to it: it is smaller than it claims, or broken."
        "do not keep anything on it; return it"
    PartlyChecked "partly-checked" Step Note
        "Only some blocks of the device were checked."
        "`seekwell bench capacity DEVICE --full` checks every block, and destroys what is on them"
    WrongData "wrong-data" Step NotRanked
        "Data that a step wrote and synced was another one after a remount."
        "do not keep data on this stack; look into the kernel's log, and check the device with `seekwell bench capacity`"
    OutputCut "output-cut" Step Note
        "The middle of a command's output was not kept."
        "make the command print less, or redirect its output to a file"
    LeftProcesses "left-processes" Step Note
        "A command ended and left processes running. They were ended."
        "let the command wait for the processes that it starts"
    ServerUnknown "server-unknown" Stack Note
        "The files of a stack are on another machine. Its disks, its caches and its promises after a sync are not known."
        "look at the server's own statistics; compare with `nfs`, whose server the trial starts"
    LowFidelity "low-fidelity" Step NotRanked
        "A replay left out recorded calls or got other results than recorded, more than one in a hundred. It measured another load."
        "look at the calls that the warning names; record again with `seekwell capture`, or limit the replay to one folder (`only`)"
    ReplayDiffers "replay-differs" Step Note
        "Some calls of a replay had another result than recorded."
        "compare with the calls that the warning names"
    ProgramNote "program-note" Step Doubt
        "A program that a step runs reported that it did not do what it was told."
        "read its message: the result may be that of another setting"
    NotANumber "not-a-number" Step Missing
        "A metric was infinite or not a number and is left out."
        "report this as a defect, with the lab"
    TrialFailed "trial-failed" Run Missing
        "Trials of a stack failed."
        "fix the cause and run the lab again, or exclude the stack"
    MetricWithoutRatio "metric-without-ratio" Run Missing
        "The judged metric was 0, negative or not a number in some trials. They count as failed."
        "judge a metric that is always above 0"
    FileChanged "file-changed" Run Doubt
        "Part of the run file was changed after the run wrote it."
        "this file is not what `seekwell run` wrote: take a copy that `seekwell file verify` accepts"
    VerdictDiffers "verdict-differs" Run Doubt
        "The stored verdict is not the one that the records give with this version."
        "the verdict is the stored one; an earlier version judged by another method, or the file was edited (see `seekwell file verify`)"
    InForceDiffers "in-force-differs" Run Doubt
        "A setting that the lab does not vary was not the same in all stacks."
        "treat it as part of the difference between the stacks, or set it in the lab"
    OtherNode "other-node" Run Note
        "A run on the nodes of a cluster was continued without the folder that held the rest of a round. Trials that ran on another node than most of their round are not compared."
        "keep the folder next to the run file until the run ends"
    DependentRounds "dependent-rounds" Run Doubt
        "The rounds resemble their neighbours, or single stacks have slow spells of several rounds. More than two of 100 certificates from so few rounds of such noise are wrong."
        "add rounds: 20 where neighbours resemble each other, 40 where there are slow spells"
    BusyProcessors "busy-processors" Run Doubt
        "Processes waited for a CPU most of the time: other programs used the CPUs, or the workload has more threads than there are CPUs."
        "stop other programs and repeat; the timelines show the pressure"
}

#[cfg(test)]
mod tests;
