//! Tests how `?` and an entry convert errors that the SDK does not know.

use anyhow::Context as _;
use std::error::Error;
use wasmjob::{Context, Failure};

wasmjob::simple!(load);

/// An entry that uses only anyhow.
pub fn load(c: &Context) -> anyhow::Result<()> {
    let rows = parse(c.job_param().as_str())?;
    anyhow::ensure!(rows > 0, "no rows");
    Ok(())
}

fn parse(text: &str) -> anyhow::Result<u32> {
    text.parse().with_context(|| format!("read {text:?}"))
}

/// An entry that sets the meaning of the failure, whatever the error.
pub fn again(c: &Context) -> wasmjob::Result {
    parse(&c.job_param()).map_err(Failure::retry)?;
    Ok(())
}

/// `?` on any error.
pub fn plain(c: &Context) -> wasmjob::Result {
    parse(&c.job_param())?;
    Ok(())
}

/// An entry that uses only the standard library.
pub fn boxed(c: &Context) -> Result<(), Box<dyn Error>> {
    parse(&c.job_param())?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use wasmjob::fake::Host;

    fn host(param: &str) -> Host {
        Host {
            job_param: param.into(),
            ..Host::default()
        }
    }

    const CHAIN: &str = r#"read "many": invalid digit found in string"#;

    #[test]
    fn causes_reach_the_host() {
        let failed = Err(Failure::new(CHAIN));
        assert_eq!(host("many").run(load), failed);
        assert_eq!(host("many").run(plain), failed);
        assert_eq!(host("many").run(boxed), failed);
        assert_eq!(host("many").run(again), Err(Failure::retry(CHAIN)));
    }

    #[test]
    fn an_error_without_cause_is_its_text() {
        assert_eq!(host("0").run(load), Err(Failure::new("no rows")));
        assert_eq!(host("7").run(load), Ok(()));
    }
}
