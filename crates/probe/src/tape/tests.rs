use super::*;
use seekwell_device::model::Geometry;

/// A device whose nth request takes n microseconds, and which pauses for one after each.
struct Counting {
    now_ns: u64,
    requests: u64,
}

impl Counting {
    fn request(&mut self) -> Timed {
        self.requests += 1;
        let start_ns = self.now_ns;
        let end_ns = start_ns + self.requests * 1_000;
        self.now_ns = end_ns + 1_000;
        Timed { start_ns, end_ns }
    }
}

impl Target for Counting {
    fn geometry(&self) -> Geometry {
        seekwell_device::build(&seekwell_device::catalogue().unwrap()["fixed"], 1).geometry()
    }

    fn now_ns(&self) -> u64 {
        self.now_ns
    }

    fn wait_until(&mut self, at_ns: u64) {
        self.now_ns = self.now_ns.max(at_ns);
    }

    fn read_all(&mut self, requests: &[Span], _: u32) -> Result<Vec<Timed>, ReadFailed> {
        Ok(requests.iter().map(|_| self.request()).collect())
    }
}

impl WriteTarget for Counting {
    fn write_all(&mut self, requests: &[Span], _: u32) -> Result<Vec<Timed>, WriteFailed> {
        Ok(requests.iter().map(|_| self.request()).collect())
    }

    fn mix_all(&mut self, requests: &[(Direction, Span)], _: u32) -> Result<Vec<Timed>> {
        Ok(requests.iter().map(|_| self.request()).collect())
    }

    fn flush(&mut self) -> Result<Timed, WriteFailed> {
        Ok(self.request())
    }
}

struct Bench<'t>(Recorder<'t, Counting>);

impl Draws for Bench<'_> {
    fn tape(&mut self) -> &mut Tape {
        self.0.tape()
    }
}

const SPAN: Span = Span { lba: 0, sectors: 8 };

fn bench<'t>(device: &'t mut Counting, tape: &'t mut Tape) -> Bench<'t> {
    Bench(Recorder::new(device, tape))
}

/// Sealed times in microseconds.
fn sealed_us(tape: &Tape) -> Vec<u64> {
    tape.samples.iter().map(|sample| sample.device_ns / 1_000).collect()
}

#[test]
fn of_each_three_measurements_one_is_sealed_and_its_time_is_seen_by_no_experiment() {
    let (mut device, mut tape) = (Counting { now_ns: 0, requests: 0 }, Tape::new(5));
    let class = Class::of("reads", Judged::Last);
    let read = |bench: &mut Bench<'_>| Ok(bench.0.read_all(&[SPAN], 1)?[0].took_ns() / 1_000);
    let seen = bench(&mut device, &mut tape).repeat(class, 200, read).unwrap();
    let sealed = sealed_us(&tape);
    assert_eq!(seen.len(), 200);
    assert_eq!((tape.measured(), tape.withheld()), (device.requests, sealed.len() as u64));
    assert!((98..=101).contains(&sealed.len()), "{}", sealed.len());
    let mut all: Vec<u64> = seen.iter().chain(&sealed).copied().collect();
    all.sort_unstable();
    assert_eq!(all, (1..=device.requests).collect::<Vec<_>>(), "each in one of both");
    let runs = (1..=device.requests).collect::<Vec<_>>();
    let thirds = runs.chunks_exact(3).map(|three| three.iter().filter(|n| sealed.contains(n)));
    assert!(thirds.map(Iterator::count).all(|count| count == 1));
}

#[test]
fn the_seed_decides_which() {
    let drawn = |seed: u64| Tape::new(seed).draws(60);
    assert_eq!(drawn(1), drawn(1));
    assert_ne!(drawn(1), drawn(2));
    assert_eq!(drawn(3).iter().filter(|sealed| **sealed).count(), 20);
}

#[test]
fn each_class_keeps_the_times_that_it_is_judged_by() {
    for (judged, expected) in [
        (Judged::First, vec![1, 2]),
        (Judged::Last, vec![5]),
        (Judged::Each, vec![1, 2, 3, 4, 5]),
        // Of four deeds the first three.
        (Judged::Early, vec![1, 2, 3, 4]),
        // With the pauses of one microsecond between them.
        (Judged::Whole, vec![19]),
    ] {
        let (mut device, mut tape) = (Counting { now_ns: 0, requests: 0 }, Tape::new(5));
        let measure = |bench: &mut Bench<'_>| {
            bench.0.read_all(&[SPAN; 2], 2)?;
            bench.0.write_all(&[SPAN], 1)?;
            bench.0.mix_all(&[(Direction::Read, SPAN)], 1)?;
            bench.0.flush()?;
            Ok(())
        };
        let class = Class::of("all", judged).at(2);
        let seen = bench(&mut device, &mut tape).drawn(true, class, measure).unwrap();
        assert_eq!((seen, sealed_us(&tape)), (None, expected), "{judged:?}");
    }
}

#[test]
fn a_model_that_is_the_device_answers_as_the_sealed_measurements_did() {
    let file = seekwell_device::catalogue().unwrap().remove("sata-500gb-7200").unwrap();
    let (mut device, mut tape) = (Simulated::new(seekwell_device::build(&file, 3)), Tape::new(9));
    let mut recorder = Recorder::new(&mut device, &mut tape);
    struct Pens<'p, 't>(&'p mut Recorder<'t, Simulated>);
    impl Draws for Pens<'_, '_> {
        fn tape(&mut self) -> &mut Tape {
            self.0.tape()
        }
    }
    let mut pens = Pens(&mut recorder);
    for nth in 0..300_u64 {
        let span = Span { lba: (nth * 7_919_777) % 900_000_000 / 8 * 8, sectors: 8 };
        let measure = |pens: &mut Pens<'_, '_>| {
            let at_ns = pens.0.now_ns() + 3_000_000;
            pens.0.wait_until(at_ns);
            pens.0.write_all(&[span], 1)?;
            pens.0.flush()?;
            Ok(pens.0.read_all(&[span; 4], 2)?.len())
        };
        pens.one(Class::of("each", Judged::Each), measure).unwrap();
    }
    let compared = tape.replay(&mut Simulated::new(seekwell_device::build(&file, 3))).unwrap();
    let [one] = compared.as_slice() else { panic!("{compared:?}") };
    assert_eq!((one.name, one.device_ns.len()), ("each", 100 * 6));
    assert_eq!(one.device_ns, one.model_ns);
}
