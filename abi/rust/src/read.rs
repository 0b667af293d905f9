use crate::Error;

/// Reads a value of any length: most fit at the first call, the others at the second.
pub(crate) fn bytes(ask: &mut dyn FnMut(&mut [u8]) -> i32) -> Result<Vec<u8>, Error> {
    let mut value = vec![0; 128];
    into(&mut value, ask)?;
    Ok(value)
}

/// Reads a value into a buffer and truncates the buffer to it.
pub(crate) fn into(
    value: &mut Vec<u8>,
    ask: &mut dyn FnMut(&mut [u8]) -> i32,
) -> Result<(), Error> {
    loop {
        let n = Error::check(ask(value))?;
        let fits = n <= value.len();
        value.resize(n, 0);
        if fits {
            return Ok(());
        }
    }
}

/// Reads text. The host stores text as UTF-8. In values that a job has set as bytes,
/// invalid UTF-8 is replaced.
pub(crate) fn text(ask: &mut dyn FnMut(&mut [u8]) -> i32) -> Result<String, Error> {
    bytes(ask).map(mend)
}

/// Makes bytes a text; invalid UTF-8 is replaced.
pub(crate) fn mend(value: Vec<u8>) -> String {
    String::from_utf8(value).unwrap_or_else(|e| String::from_utf8_lossy(e.as_bytes()).into_owned())
}

/// Converts the error of a missing value to `None`.
pub(crate) fn optional<T>(read: Result<T, Error>) -> Result<Option<T>, Error> {
    match read {
        Ok(value) => Ok(Some(value)),
        Err(Error::NotFound) => Ok(None),
        Err(e) => Err(e),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(value: &[u8]) -> impl FnMut(&mut [u8]) -> i32 + '_ {
        |buf| {
            if let Some(room) = buf.get_mut(..value.len()) {
                room.copy_from_slice(value);
            }
            value.len() as i32
        }
    }

    #[test]
    fn any_length_is_read_whole() {
        for n in [0, 1, 127, 128, 129, 300_000] {
            let value: Vec<u8> = (0..n).map(|i| i as u8).collect();
            assert!(bytes(&mut answer(&value)).unwrap() == value, "{n}");
        }
    }

    #[test]
    fn a_value_that_grows_meanwhile_is_read_whole() {
        let mut lengths = [200, 300, 10].into_iter();
        let got = bytes(&mut |buf| {
            let n = lengths.next().unwrap();
            if n <= buf.len() {
                buf[..n].fill(b'x');
            }
            n as i32
        });
        assert_eq!(got.unwrap(), b"xxxxxxxxxx");
    }

    #[test]
    fn errors_and_bad_text() {
        assert_eq!(bytes(&mut |_| -3), Err(Error::NotFound));
        assert_eq!(optional::<Vec<u8>>(bytes(&mut |_| -3)), Ok(None));
        assert_eq!(optional::<Vec<u8>>(bytes(&mut |_| -2)), Err(Error::Denied));
        assert_eq!(text(&mut answer(b"a\xffb")).unwrap(), "a\u{fffd}b");
    }
}
