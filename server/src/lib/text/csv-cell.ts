/** Spreadsheets take these for the start of a formula. Blanks and invisible characters before a sign do not help: some programs remove them. */
const FORMULA = /^(?:[\s\p{Cc}\p{Cf}]*[=+\-@＝＋－＠]|[\t\r\n\0])/u

/** A cell of a CSV file (RFC 4180). Text that a spreadsheet would run as a formula gets an apostrophe before it. */
export const csvCell = (value: string) => `"${(FORMULA.test(value) ? `'${value}` : value).replaceAll('"', '""').replaceAll('\0', '')}"`
