use super::*;
use crate::{Error, Request};
use std::cell::Cell;
use std::rc::Rc;

#[test]
fn every_field_is_passed() {
    let mut host = Host {
        job_name: "report".into(),
        task_id: "task".into(),
        job_param: "job param".into(),
        param: Some(String::new()),
        instance: "10.0.0.1@-@7".into(),
        namespace: "ns".into(),
        module_digest: "abc".into(),
        seed: "1f".into(),
        run_id: "report/1/5".into(),
        item: 1,
        total: 3,
        scheduled: Timestamp::from_millis(5),
        fired: Timestamp::from_millis(6),
        deadline: Some(Timestamp::from_millis(7)),
        attempt: 2,
        failover: true,
        misfire: true,
        streaming: true,
        fence: (1 << 53) + 1,
        fetch_count: Some(9),
        json: "{}".repeat(1000),
        config: BTreeMap::from([("key".into(), "v".repeat(5000))]),
        ..Host::default()
    };
    host.run(|c| {
        assert_eq!(
            [
                c.job_name(),
                c.task_id(),
                c.job_param(),
                c.instance(),
                c.namespace(),
                c.module_digest(),
                c.seed(),
                c.run_id()
            ],
            [
                "report",
                "task",
                "job param",
                "10.0.0.1@-@7",
                "ns",
                "abc",
                "1f",
                "report/1/5"
            ]
        );
        assert_eq!(c.param().as_deref(), Some(""));
        assert_eq!((c.item(), c.total(), c.attempt()), (1, 3, 2));
        assert_eq!(
            (c.fired() - Duration::from_millis(1), c.scheduled().millis()),
            (c.scheduled(), 5)
        );
        assert_eq!(c.deadline().map(Timestamp::millis), Some(7));
        assert!(c.failover() && c.misfire() && c.streaming());
        assert_eq!(
            (c.fence(), c.fetch_count(), c.host_minor()),
            ((1 << 53) + 1, Some(9), 2)
        );
        assert_eq!(
            (c.json().len(), c.config("key").map(|v| v.len())),
            (2000, Some(5000))
        );
        assert_eq!(c.config("none"), None);
    })
    .unwrap();
    let bare = |c: &Context| {
        assert_eq!(
            (c.param(), c.deadline(), c.fetch_count()),
            (None, None, None)
        );
    };
    Host::default().run(bare).unwrap();
}

#[test]
fn what_is_told_is_kept() {
    let mut host = Host {
        max_result: 3,
        level: Level::Debug,
        ..Host::default()
    };
    host.run(|c| -> crate::Result {
        c.set_result("one")?;
        assert_eq!(c.set_result("four"), Err(Error::Limit));
        c.progress(3, 4);
        c.metric("rows", 2.5)?;
        c.metric("rows", 2.5)?;
        for (name, value) in [
            ("no good", 1.0),
            ("", 1.0),
            (&"x".repeat(65)[..], 1.0),
            ("x", f64::NAN),
        ] {
            assert_eq!(c.metric(name, value), Err(Error::Invalid));
        }
        crate::trace!("nobody keeps this");
        crate::debug!("plain {{}}");
        crate::error!("{} of {total}", 1, total = c.total());
        crate::log!(Level::Warn, "odd");
        c.sleep(Duration::from_micros(1500))?;
        Ok(())
    })
    .unwrap();
    assert_eq!(host.result_text(), "one");
    assert_eq!(host.progress, Some((3, 4)));
    assert_eq!(host.metrics["rows"], 5.0);
    assert_eq!(host.slept, Duration::from_millis(2));
    let want = [
        (Level::Debug, "plain {}"),
        (Level::Error, "1 of 1"),
        (Level::Warn, "odd"),
    ];
    assert_eq!(
        host.logs,
        want.map(|(level, line)| (level, line.to_string()))
    );
}

#[test]
fn metrics_have_an_end() {
    let many = |c: &Context| -> Result<(), Error> {
        (0..65).try_for_each(|i| c.metric(&format!("m{i}"), 1.0))
    };
    let mut host = Host::default();
    assert_eq!(host.run(many).unwrap_err(), Failure::from(Error::Limit));
    assert_eq!(host.metrics.len(), 64);
}

#[test]
fn a_stopped_run_is_told() {
    let asked = Rc::new(Cell::new(0));
    let counter = asked.clone();
    let mut host = Host {
        stop: Some(Box::new(move || {
            counter.set(counter.get() + 1);
            (counter.get() > 3).then_some(Stop::Resharding)
        })),
        ..Host::default()
    };
    host.run(|c| {
        while c.cancelled().is_none() {}
        assert_eq!(c.cancelled(), Some(Stop::Resharding));
        assert_eq!(c.sleep(Duration::from_secs(1)), Err(Error::Cancelled));
    })
    .unwrap();
    assert_eq!((asked.get(), host.slept), (6, Duration::ZERO));
    for code in 1..=5 {
        let stop = Stop::of(code).unwrap();
        assert_eq!(stop.code(), code);
        assert!(!matches!(stop, Stop::Other(_)) && !stop.to_string().contains("reason"));
    }
    assert_eq!(Stop::of(0), None);
}

#[test]
fn nothing_is_granted_by_itself() {
    Host::default()
        .run(|c| {
            assert_eq!(c.now(), Err(Error::Denied));
            assert_eq!(c.random(&mut [0]), Err(Error::Denied));
            assert_eq!(c.random(&mut []), Err(Error::Denied));
            assert_eq!(c.secret("token"), Err(Error::Denied));
            assert_eq!(c.state().get("k"), Err(Error::Denied));
            assert_eq!(c.state().set("k", "v"), Err(Error::Denied));
            assert_eq!(c.state().delete("k"), Err(Error::Denied));
            assert_eq!(
                Request::get("https://example.org/").send().err(),
                Some(Error::Denied)
            );
        })
        .unwrap();
}

#[test]
fn grants() {
    let mut host = Host {
        clock: Some(Timestamp::from_millis(1000)),
        random: Some(1),
        secrets: BTreeMap::from([
            ("token".into(), b"s3cret".to_vec()),
            ("raw".into(), vec![255]),
        ]),
        ..Host::default()
    };
    host.run(|c| -> crate::Result {
        c.sleep(Duration::from_secs(1))?;
        assert_eq!(c.now()?.millis(), 2000);
        let (mut one, mut other) = (vec![0; 200_000], [0; 8]);
        c.random(&mut one)?;
        c.random(&mut other)?;
        assert!(one[..8] != other && one[199_000..].iter().any(|&b| b != 0));
        assert_eq!(c.secret("token")?, "s3cret");
        assert_eq!(
            (c.secret("raw"), c.secret_bytes("raw")?),
            (Err(Error::Invalid), vec![255])
        );
        Ok(())
    })
    .unwrap();
}

#[test]
fn state_is_kept_with_success() {
    let mut host = Host {
        state: Some(BTreeMap::from([("n".into(), b"1".to_vec())])),
        ..Host::default()
    };
    host.run(|c| -> crate::Result {
        let s = c.state();
        assert_eq!((s.get_text("n")?, s.get("m")?), (Some("1".into()), None));
        s.set("m", [0xff])?;
        assert_eq!(s.get_text("m")?, Some("\u{fffd}".into()));
        assert!(s.delete("n")? && !s.delete("n")?);
        assert_eq!(s.set("", "x"), Err(Error::Invalid));
        assert_eq!(s.set(&"k".repeat(257), "x"), Err(Error::Invalid));
        Ok(())
    })
    .unwrap();
    let kept = BTreeMap::from([("m".to_string(), vec![0xff])]);
    assert_eq!(host.state.as_ref(), Some(&kept));
    let failure = host.run(|c| -> crate::Result {
        c.state().set("m", "2")?;
        Err(Failure::new("not kept"))
    });
    assert_eq!(failure, Err(Failure::new("not kept")));
    assert_eq!(host.state, Some(kept));
}

#[test]
fn a_host_comes_back_from_a_panic() {
    let mut host = Host::default();
    let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let _ = host.run(|c| {
            crate::info!("here");
            assert_eq!(c.item(), 1, "it broke");
        });
    }));
    assert!(caught.is_err());
    assert_eq!(host.logs, [(Level::Info, "here".to_string())]);
    assert!(!crate::enabled(Level::Error)); // no host stays current
    crate::error!("into the void");
}

#[test]
#[should_panic(expected = "there is no host on this thread")]
fn a_call_without_a_host_says_so() {
    Context::new().job_name();
}

// The macros check the types of what they export, everywhere.
mod entries {
    crate::simple!(|_: &crate::Context| Ok::<(), crate::Error>(()));
    crate::dataflow!(fetch, process);
    crate::strategy!(|d: &mut crate::Deal| d.assign(0, 0));
    crate::before!(quiet);
    crate::after!(quiet);
    crate::started!(quiet);
    crate::completed!(quiet);

    fn fetch(b: &mut crate::Batch) -> Result<(), crate::Error> {
        b.add("x").map(drop)
    }

    fn process(_: &crate::Elements) {}

    fn quiet(_: &crate::Context) {}
}
