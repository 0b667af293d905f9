use crate::{after, before, completed, deal, execute, flow};
use std::collections::BTreeMap;
use wasmjob::fake::{Answer, Flow, Host, Instance, Sent};
use wasmjob::{Ended, Error, Fire, Stop, Timestamp};

fn host(case: &str) -> Host {
    Host {
        job_param: case.to_string(),
        ..Host::default()
    }
}

/// Runs a case without grants and returns the code and the reason, or the result.
fn play(case: &str) -> (i32, String) {
    let mut h = host(case);
    match h.run(execute::run) {
        Ok(()) => (0, h.result_text()),
        Err(failure) => (failure.code(), failure.reason().to_string()),
    }
}

#[test]
fn without_grants() {
    for (case, code, text) in [
        ("ok", 0, ""),
        ("fail", 1, "it failed"),
        ("retry", 2, "again later"),
        ("skip", 3, "nothing to do"),
        ("code", 142, "own code"),
        ("config:none", 0, "-"),
        ("utf8:馬", 0, "馬"),
        ("empty", 0, ""),
        ("large:3", 0, "xxx"),
        ("large:2000000", 0, "limit"),
        ("nap:5", 0, "slept"),
        ("nap:-5", 0, "slept"),
        ("badmetric", 0, "invalid"),
        ("clock", 0, "denied"),
        ("random", 0, "denied"),
        ("count", 0, "denied"),
        ("secret:x", 0, "denied"),
        ("get:https://example.org/", 0, "denied"),
        ("nonsense", 1, "no case \"nonsense\""),
    ] {
        assert_eq!(play(case), (code, text.to_string()), "{case}");
    }
}

#[test]
fn fields() {
    let (code, text) = play("fields");
    assert_eq!((code, text.lines().count()), (0, 21));
    for line in ["itemParam=-", "deadline=0", "failover=0", "jobParam=fields"] {
        assert!(text.lines().any(|l| l == line), "{line} in {text}");
    }
}

#[test]
fn after_is_told_how_the_run_ended() {
    for (ended, reason, line) in [
        (None, Some("not told"), "ended unknown"),
        (Some(Ended::Done), None, "ended 0"),
        (Some(Ended::Late), Some("slow"), "ended 4 slow"),
        (
            Some(Ended::Code(142)),
            Some("own code"),
            "ended 142 own code",
        ),
    ] {
        let mut h = host("ok");
        h.ended = ended;
        h.ended_reason = reason.map(str::to_string);
        h.run(after).unwrap();
        assert_eq!(h.logs.last().unwrap().1, line);
    }
}

#[test]
fn completed_is_told_how_the_items_ended() {
    let told = Fire {
        succeeded: 5,
        failed: 1,
        skipped: 2,
    };
    for (fire, line) in [(None, "fire unknown"), (Some(told), "fire 5 1 2")] {
        let mut h = host("ok");
        h.fire = fire;
        h.run(completed).unwrap();
        assert_eq!(h.logs.last().unwrap().1, line);
    }
}

#[test]
fn stopping() {
    let mut h = host("stop");
    h.stop = Some(Box::new(|| Some(Stop::Deadline)));
    h.run(execute::run).unwrap();
    assert_eq!(h.result_text(), "1");
    h.job_param = "nap:600000".to_string();
    h.run(execute::run).unwrap();
    assert_eq!(h.result_text(), "stopped");
}

fn echo(sent: &Sent) -> Result<Answer, Error> {
    if sent.url.ends_with("/broken") {
        return Err(Error::Io);
    }
    Ok(Answer {
        status: 201,
        headers: sent
            .headers
            .iter()
            .map(|(_, v)| ("X-Echo".to_string(), v.clone()))
            .collect(),
        body: sent.body.clone(),
    })
}

#[test]
fn with_grants() {
    let state = |n: &str| Some(BTreeMap::from([("n".to_string(), n.as_bytes().to_vec())]));
    let mut h = Host {
        clock: Some(Timestamp::from_millis(1_711_111_111_111)),
        random: Some(1),
        state: state("41"),
        http: Some(Box::new(echo)),
        ..Host::default()
    };
    for (case, result) in [
        ("clock", "1711111111111"),
        ("count", "42"),
        ("get:https://example.org/", "201 "),
        ("get:https://example.org/broken", "io"),
        ("get:no such", "invalid"),
        ("post:https://example.org/", "201 yes ping"),
    ] {
        h.job_param = case.to_string();
        h.run(execute::run).unwrap();
        assert_eq!(h.result_text(), result, "{case}");
    }
    h.job_param = "random".to_string();
    h.run(execute::run).unwrap();
    assert_eq!(h.result_text().len(), 32);
    h.job_param = "countfail".to_string();
    assert_eq!(h.run(execute::run).unwrap_err().reason(), "not kept");
    assert_eq!(h.state, state("42"));
    for result in ["gone", "none"] {
        h.job_param = "forget".to_string();
        h.run(execute::run).unwrap();
        assert_eq!(h.result_text(), result);
    }
}

#[test]
fn flows() {
    // A single test, because the count of fetches is global to the process.
    let mut h = host("flow:3");
    h.streaming = true;
    h.dataflow(flow::fetch, flow::process).unwrap();
    let all = Flow {
        batches: 3,
        done: 6,
        failed: 0,
    };
    assert_eq!(
        (h.flow, h.metrics["seen"], h.result_text().as_str()),
        (all, 6.0, "e0")
    );
    let mut h = host("flowfail");
    assert_eq!(
        h.dataflow(flow::fetch, flow::process).unwrap_err().reason(),
        "bad batch"
    );
    let mut h = host("flowack");
    h.dataflow(flow::fetch, flow::process).unwrap();
    assert_eq!(
        h.flow,
        Flow {
            batches: 1,
            done: 1,
            failed: 2
        }
    );
    let mut h = host("offset");
    (h.streaming, h.state) = (true, Some(BTreeMap::new()));
    h.dataflow(flow::fetch, flow::process).unwrap();
    assert_eq!((h.flow.done, h.result_text().as_str()), (7, "7"));
}

#[test]
fn deals() {
    let instance = |id: &str, weight: Option<&str>| Instance {
        id: id.to_string(),
        labels: weight
            .iter()
            .map(|w| ("weight".to_string(), w.to_string()))
            .collect(),
    };
    for (case, want) in [
        ("modulo", Ok(vec![0, 1, 2, 0])),
        ("heaviest", Ok(vec![1; 4])),
        ("sticky", Ok(vec![2, 0, 1, 0])),
        ("partial", Err("item 3 is not placed")),
        ("twice", Err("conflict")),
    ] {
        let mut h = Host {
            total: 4,
            instances: vec![
                instance("c", Some("2")),
                instance("b", Some("10")),
                instance("a", None),
            ],
            owners: vec![Some(2), None, Some(1), Some(0)],
            ..host(case)
        };
        let dealt = h.deal(deal::deal).map_err(|f| f.reason().to_string());
        assert_eq!(dealt, want.map_err(str::to_string), "{case}");
    }
}

#[test]
fn listeners() {
    assert_eq!(host("veto").run(before).unwrap_err().code(), 3);
    host("listen").run(before).unwrap();
}
