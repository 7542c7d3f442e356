export { assertFires, compileSchedule } from './compile.ts'
export { inWords } from './in-words.ts'
export { type ClockMark, MOST_PREVIEWED, type PreviewItem, preview } from './preview.ts'
export { canonicalTimeZone } from './time-zone.ts'
