//! The smallest job in Rust: it logs a greeting that names its item, and returns it
//! as the result.
//!
//! ```sh
//! cargo build --release --target wasm32-unknown-unknown
//! ```

use wasmjob::Context;

wasmjob::simple!(hello);

fn hello(c: &Context) -> wasmjob::Result {
    let whom = c.param().unwrap_or("world".to_string());
    let text = format!("hello, {whom}, from item {} of {}", c.item(), c.total());
    wasmjob::info!("{text}");
    Ok(c.set_result(text)?)
}

#[cfg(test)]
mod tests {
    use super::hello;
    use wasmjob::fake::Host;
    use wasmjob::Level;

    #[test]
    fn greets() {
        for (param, want) in [
            (Some("moon"), "hello, moon, from item 1 of 3"),
            (None, "hello, world, from item 1 of 3"),
        ] {
            let mut host = Host {
                item: 1,
                total: 3,
                param: param.map(str::to_string),
                ..Host::default()
            };
            host.run(hello).unwrap();
            assert_eq!(host.result_text(), want);
            assert_eq!(host.logs, [(Level::Info, want.to_string())]);
        }
    }
}
