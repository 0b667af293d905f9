use crate::{host, read, Error};
use std::io::{self, Read};

/// An HTTP request. Grant: `http`, for its URL.
///
/// ```
/// # fn run(_: &wasmjob::Context) -> wasmjob::Result {
/// let answer = wasmjob::Request::post("https://example.org/rows")
///     .header("Authorization", "Bearer {{secret:token}}")
///     .body("a,b")
///     .send()?;
/// if answer.status() != 201 {
///     return Err(wasmjob::Failure::retry(answer.text()?));
/// }
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct Request {
    head: String,
    body: Vec<u8>,
    sound: bool, // method, URL and headers are valid; if not, it is not sent
}

impl Request {
    /// A request with any method.
    pub fn new(method: &str, url: &str) -> Self {
        Request {
            head: format!("{method} {url}\n"),
            body: Vec::new(),
            sound: is_name(method) && !url.is_empty() && url.bytes().all(|b| b > b' ' && b != 127),
        }
    }

    /// A request to read.
    pub fn get(url: &str) -> Self {
        Request::new("GET", url)
    }

    /// A request to send data.
    pub fn post(url: &str) -> Self {
        Request::new("POST", url)
    }

    /// A request to store data at the URL.
    pub fn put(url: &str) -> Self {
        Request::new("PUT", url)
    }

    /// A request to delete data.
    pub fn delete(url: &str) -> Self {
        Request::new("DELETE", url)
    }

    /// Adds a header. `{{secret:name}}` in the value stands for a granted
    /// secret, which the job then never sees.
    pub fn header(mut self, name: &str, value: &str) -> Self {
        // A line break would end the header and begin another one.
        self.sound &= is_name(name) && !value.contains(['\r', '\n', '\0']);
        for part in [name, ": ", value, "\n"] {
            self.head.push_str(part);
        }
        self
    }

    /// Sets the body.
    pub fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self
    }

    /// Sends the request and waits for the head of the response. A response with any
    /// status, such as 404, is no error. [`Error::Denied`] if the URL, an address it
    /// leads to, or a redirect is not granted; [`Error::Limit`] if the run has used up
    /// its requests; and [`Error::Timeout`], [`Error::Cancelled`] or [`Error::Io`].
    pub fn send(self) -> Result<Response, Error> {
        if !self.sound {
            return Err(Error::Invalid);
        }
        let mut request = self.head.into_bytes();
        request.push(b'\n');
        request.extend_from_slice(&self.body);
        let handle = host::http_request(&request);
        Error::check(handle)?;
        let status = match u16::try_from(host::http_status(handle)) {
            Ok(status) => status,
            Err(_) => return Err(Error::Internal),
        };
        Ok(Response { handle, status })
    }
}

/// Whether a text is an HTTP token, as methods and header names must be.
fn is_name(text: &str) -> bool {
    let token = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
    !text.is_empty() && text.bytes().all(token)
}

/// The response to a [`Request`]. Its body can be read once; dropping the response closes
/// it. At most 16 may be open at a time.
#[derive(Debug)]
pub struct Response {
    handle: i32,
    status: u16,
}

impl Response {
    /// The status code.
    pub fn status(&self) -> u16 {
        self.status
    }

    /// A header, if there is one of that name; several are joined by `, `.
    pub fn header(&self, name: &str) -> Option<String> {
        read::text(&mut |buf| host::http_header(self.handle, name, buf)).ok()
    }

    /// The rest of the body. [`Error::Limit`] if the body is larger than the
    /// job may read.
    pub fn bytes(self) -> Result<Vec<u8>, Error> {
        const PIECE: usize = 16 << 10;
        let mut body = Vec::new();
        loop {
            let have = body.len();
            body.resize(have + PIECE, 0);
            let n = self.next(&mut body[have..])?;
            body.truncate(have + n);
            if n == 0 {
                return Ok(body);
            }
        }
    }

    /// The rest of the body as text; invalid UTF-8 is replaced.
    pub fn text(self) -> Result<String, Error> {
        self.bytes().map(read::mend)
    }

    /// Reads the next bytes of the body; 0: there are no more.
    fn next(&self, buf: &mut [u8]) -> Result<usize, Error> {
        Error::check(host::http_read(self.handle, buf))
    }
}

impl Read for Response {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        Ok(self.next(buf)?)
    }
}

impl Drop for Response {
    fn drop(&mut self) {
        host::http_close(self.handle);
    }
}
