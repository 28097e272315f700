//! Kubernetes: a run and its workers as one Indexed Job that shares a volume.
//!
//! The pod with index 0 is the session, the others are workers. The Job is done when index 0 is.

use crate::yaml;
use serde_json::{Value, json};

#[cfg(test)]
mod tests;

/// A lab as objects of Kubernetes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    /// Name of the lab; the objects' names are made of it.
    pub lab: String,
    /// The lab file's text.
    pub text: String,
    /// Further options of `seekwell run`, such as `--model=wd-raptor`.
    pub options: Vec<String>,
    /// Image of the containers.
    pub image: String,
    /// Number of workers, each with one CPU.
    pub workers: u32,
    /// Volume claim with the access mode `ReadWriteMany` that is there already; `None` makes one.
    pub claim: Option<String>,
    /// Storage class of a claim that is made; `None` is the cluster's default.
    pub storage_class: Option<String>,
}

/// Longest name of the objects: the host name of a pod is name, `-` and index, at most 63 letters.
const LONGEST_NAME: usize = 52;

/// Ends of workers for other reasons than a lost node before the Job is given up, for each worker.
const RETRIES: u32 = 3;

/// Script of every pod. Status 4 is a run that is complete and inconclusive.
const SCRIPT: &str = r#"set -eu
if [ "$JOB_COMPLETION_INDEX" -gt 0 ]; then
    exec seekwell work "$RUN.nodes" --wait --task "$JOB_COMPLETION_INDEX-$(uname -n)"
fi
status=0
seekwell run /lab/lab.toml --on workers --resume -o "$RUN" --no-screen "$@" || status=$?
[ "$status" -eq 4 ] || exit "$status"
"#;

impl Manifest {
    /// The objects as YAML.
    #[must_use]
    pub fn yaml(&self) -> String {
        self.objects().iter().map(yaml::document).collect()
    }

    /// Name of the objects.
    #[must_use]
    pub fn name(&self) -> String {
        let letter = |letter: char| {
            if letter.is_ascii_alphanumeric() { letter.to_ascii_lowercase() } else { '-' }
        };
        let whole: String = format!("seekwell-{}", self.lab).chars().map(letter).collect();
        let parts: Vec<&str> = whole.split('-').filter(|part| !part.is_empty()).collect();
        let name: String = parts.join("-").chars().take(LONGEST_NAME).collect();
        name.trim_end_matches('-').to_owned()
    }

    fn objects(&self) -> Vec<Value> {
        let lab = json!({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": self.metadata(),
            "data": {"lab.toml": self.text},
        });
        let claim = self.claim.is_none().then(|| self.volume_claim());
        std::iter::once(lab).chain(claim).chain([self.job()]).collect()
    }

    fn metadata(&self) -> Value {
        json!({"name": self.name(), "labels": {"app.kubernetes.io/name": "seekwell"}})
    }

    fn volume_claim(&self) -> Value {
        let mut spec = json!({
            "accessModes": ["ReadWriteMany"],
            "resources": {"requests": {"storage": "10Gi"}},
        });
        if let Some(class) = &self.storage_class {
            spec["storageClassName"] = class.as_str().into();
        }
        json!({
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": self.metadata(),
            "spec": spec,
        })
    }

    fn job(&self) -> Value {
        let pods = self.workers + 1;
        json!({
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": self.metadata(),
            "spec": {
                "completionMode": "Indexed",
                "completions": pods,
                "parallelism": pods,
                "backoffLimit": pods.saturating_mul(RETRIES),
                // A lost or drained node is no mistake of the lab. Wrong usage, and a refusal, come
                // back however often they are tried.
                "podFailurePolicy": {"rules": [
                    {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]},
                    {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [2, 3]}},
                ]},
                "successPolicy": {"rules": [{"succeededIndexes": "0", "succeededCount": 1}]},
                "template": {"metadata": {"labels": {"app.kubernetes.io/name": "seekwell"}}, "spec": self.pod()},
            },
        })
    }

    fn pod(&self) -> Value {
        let claim = self.claim.clone().unwrap_or_else(|| self.name());
        json!({
            "restartPolicy": "Never",
            "automountServiceAccountToken": false,
            "securityContext": {
                "runAsNonRoot": true,
                "runAsUser": 1000,
                "runAsGroup": 1000,
                "fsGroup": 1000,
                // Otherwise every new pod would open the folder of the run to its group.
                "fsGroupChangePolicy": "OnRootMismatch",
                "seccompProfile": {"type": "RuntimeDefault"},
            },
            "containers": [self.container()],
            "volumes": [
                {"name": "lab", "configMap": {"name": self.name()}},
                {"name": "runs", "persistentVolumeClaim": {"claimName": claim}},
                // The memory of a guest is a file there; the usual 64 MiB are too few.
                {"name": "memory", "emptyDir": {"medium": "Memory", "sizeLimit": "768Mi"}},
                {"name": "temporary", "emptyDir": {}},
            ],
        })
    }

    fn container(&self) -> Value {
        let mut command = vec!["/bin/sh", "-c", SCRIPT, "sh"];
        command.extend(self.options.iter().map(String::as_str));
        let needs = json!({"cpu": "1", "memory": "1Gi"});
        json!({
            "name": "seekwell",
            "image": self.image,
            "command": command,
            "env": [{"name": "RUN", "value": format!("/runs/{}.seekwell", self.name())}],
            "workingDir": "/runs",
            "resources": {"requests": needs, "limits": needs},
            "securityContext": {
                "allowPrivilegeEscalation": false,
                "capabilities": {"drop": ["ALL"]},
                "readOnlyRootFilesystem": true,
            },
            "volumeMounts": [
                {"name": "lab", "mountPath": "/lab", "readOnly": true},
                {"name": "runs", "mountPath": "/runs"},
                {"name": "memory", "mountPath": "/dev/shm"},
                {"name": "temporary", "mountPath": "/tmp"},
            ],
        })
    }
}
