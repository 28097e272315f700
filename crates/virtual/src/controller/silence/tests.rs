use super::*;

#[test]
fn silence_is_judged_by_what_the_guest_uses() {
    let ticks = |kernel, programs| CpuTicks { kernel, programs };
    let mut silence = Silence::new(ticks(100, 0));
    let limit = Duration::from_secs(2);
    silence.judge(ticks(150, 100), limit).unwrap();
    let halt = silence.judge(ticks(150, 251), limit).unwrap_err();
    assert!(matches!(halt, Halt::Ended(End::ProgramSpins(301))), "{halt}");
    let halt = Silence::new(ticks(0, 0)).judge(ticks(500, 10), limit).unwrap_err();
    assert!(matches!(halt, Halt::Ended(End::KernelSpins(510))), "{halt}");
    let mut silence = Silence::new(ticks(1, 1));
    for _ in 0..MOST_IDLE_LOOKS {
        silence.judge(ticks(1, 1), limit).unwrap();
    }
    assert!(matches!(silence.judge(ticks(1, 1), limit), Err(Halt::Ended(End::Stuck))));
}
