use super::serve::{at, fill_some, Served};
use crate::codes::*;
use crate::Error;

/// Responds to the HTTP requests of a job.
pub type Server = Box<dyn FnMut(&Sent) -> Result<Answer, Error>>;

/// A request that a job sent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sent {
    /// The method.
    pub method: String,
    /// The URL.
    pub url: String,
    /// The headers, in the order of sending; secrets are not inserted.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

/// The response of a [`Server`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// The status code.
    pub status: u16,
    /// The headers.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

impl Served {
    pub(super) fn http_request(&mut self, request: &[u8]) -> i32 {
        const OPEN: usize = 16;
        if !self.in_job() {
            return ERR_WRONG_PHASE;
        }
        let Some(server) = &mut self.host.http else {
            return ERR_DENIED;
        };
        if self.answers.iter().flatten().count() == OPEN {
            return ERR_LIMIT;
        }
        let Some(sent) = parse(request) else {
            return ERR_INVALID;
        };
        match server(&sent) {
            Err(e) => e.code(),
            Ok(answer) => {
                self.answers.push(Some((answer, 0)));
                self.answers.len() as i32 - 1
            }
        }
    }

    pub(super) fn http_status(&self, handle: i32) -> i32 {
        at(&self.answers, handle)
            .and_then(Option::as_ref)
            .map_or(ERR_INVALID, |(answer, _)| answer.status.into())
    }

    pub(super) fn http_header(&self, handle: i32, name: &str, buf: &mut [u8]) -> i32 {
        let Some((answer, _)) = at(&self.answers, handle).and_then(Option::as_ref) else {
            return ERR_INVALID;
        };
        let of_name = answer
            .headers
            .iter()
            .filter(|(n, _)| n.eq_ignore_ascii_case(name));
        let values: Vec<&str> = of_name.map(|(_, value)| value.as_str()).collect();
        fill_some(buf, (!values.is_empty()).then(|| values.join(", ")))
    }

    pub(super) fn http_read(&mut self, handle: i32, buf: &mut [u8]) -> i32 {
        let place = usize::try_from(handle)
            .ok()
            .and_then(|h| self.answers.get_mut(h));
        let Some(Some((answer, read))) = place else {
            return ERR_INVALID;
        };
        let rest = &answer.body[*read..];
        let n = rest.len().min(buf.len());
        buf[..n].copy_from_slice(&rest[..n]);
        *read += n;
        n as i32
    }

    pub(super) fn http_close(&mut self, handle: i32) -> i32 {
        let place = usize::try_from(handle)
            .ok()
            .and_then(|h| self.answers.get_mut(h));
        place.and_then(Option::take).map_or(ERR_INVALID, |_| 0)
    }
}

/// Parses a request as a host does: a line with method and URL, headers, an empty line,
/// the body.
fn parse(request: &[u8]) -> Option<Sent> {
    let end = request.windows(2).position(|two| two == b"\n\n")?;
    let mut lines = std::str::from_utf8(&request[..end]).ok()?.lines();
    let (method, url) = lines.next()?.split_once(' ')?;
    let headers = lines.map(|line| {
        let (name, value) = line.split_once(": ")?;
        Some((name.to_string(), value.to_string()))
    });
    Some(Sent {
        method: method.to_string(),
        url: url.to_string(),
        headers: headers.collect::<Option<_>>()?,
        body: request[end + 2..].to_vec(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::Host;
    use crate::Request;
    use std::io::Read;

    fn echo(sent: &Sent) -> Result<Answer, Error> {
        match sent.url.as_str() {
            "https://example.org/broken" => Err(Error::Io),
            url => Ok(Answer {
                status: 201,
                headers: vec![
                    ("X-Method".into(), sent.method.clone()),
                    ("x-method".into(), url.into()),
                ],
                body: sent.body.repeat(10_000),
            }),
        }
    }

    #[test]
    fn http() {
        let mut host = Host {
            http: Some(Box::new(echo)),
            ..Host::default()
        };
        host.run(|_| -> crate::Result {
            let url = "https://example.org/a";
            let mut answer = Request::put(url)
                .header("X-Test", "yes: {{secret:t}}")
                .body("a\n\nb")
                .send()?;
            assert_eq!(answer.status(), 201);
            assert_eq!(
                answer.header("X-METHOD").as_deref(),
                Some("PUT, https://example.org/a")
            );
            assert_eq!(answer.header("none"), None);
            let mut head = [0; 3];
            answer.read_exact(&mut head)?;
            assert_eq!((&head, answer.bytes()?.len()), (b"a\n\n", 39_997));
            assert_eq!(Request::get(url).send()?.text()?, "");
            assert_eq!(
                Request::delete("https://example.org/broken").send().err(),
                Some(Error::Io)
            );
            for unsound in [
                Request::get("no such"),
                Request::get(""),
                Request::get("https://example.org/\nX: y"),
                Request::new("", url),
                Request::new("GET ", url),
                Request::post(url).header("a b", "c"),
                Request::post(url).header("", "c"),
                Request::post(url).header("a", "b\r\nc: d"),
            ] {
                assert_eq!(
                    unsound.clone().send().err(),
                    Some(Error::Invalid),
                    "{unsound:?}"
                );
            }
            let open: Result<Vec<_>, _> = (0..16).map(|_| Request::get(url).send()).collect();
            assert_eq!(Request::get(url).send().err(), Some(Error::Limit));
            drop(open?);
            Request::get(url).send()?;
            Ok(())
        })
        .unwrap();
    }
}
