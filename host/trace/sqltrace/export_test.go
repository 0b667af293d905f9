package sqltrace

import "database/sql"

// DB opens a history for what only tests do to it.
func (l Location) DB() (*sql.DB, error) { return sql.Open(l.dialect.driver, l.writer) }
