//! A small task for two hosts: it reads a text and returns another one.

fn answer(text: &str) -> String {
    let sum = text.bytes().fold(2166136261u32, |h, b| (h ^ u32::from(b)).wrapping_mul(16777619));
    format!("{} bytes, {} words, {sum:08x}", text.len(), text.split(' ').count())
}

#[cfg(feature = "wasmjob")]
mod job {
    use wasmjob::Context;

    wasmjob::simple!(call);

    fn call(c: &Context) -> wasmjob::Result {
        Ok(c.set_result(super::answer(&c.job_param()))?)
    }
}

#[cfg(feature = "extism")]
mod plugin {
    use extism_pdk::{plugin_fn, FnResult};

    #[plugin_fn]
    pub fn call(text: String) -> FnResult<String> {
        Ok(super::answer(&text))
    }
}
