/** Texts from elsewhere, made safe to print: no control, invisible or direction-changing character reaches the terminal. */
export function printable(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu, character => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`)
}

/** On one line: runs of white space become a space, the rest as `printable`. */
export function oneLine(text: string): string {
  return printable(text.replace(/\s+/g, ' ').trim())
}

/** At most `width` columns, the last one an ellipsis where something was cut off. */
export function cut(text: string, width: number): string {
  if (widthOf(text) <= width) return text
  let [kept, used] = ['', 1]
  for (const character of text) {
    used += widthOf(character)
    if (used > width) break
    kept += character
  }
  return `${kept}…`
}

const longestId = 40
const ownPart = 9

/** A replica's id. One that is long loses of its host's name, not of its end, which tells it from others on that host. */
export function idText(id: string): string {
  const text = printable(id)
  return widthOf(text) <= longestId ? text : `${cut(text, longestId - ownPart)}${text.slice(-ownPart)}`
}

export function padded(text: string, width: number, align: 'left' | 'right' = 'left'): string {
  const room = ' '.repeat(Math.max(0, width - widthOf(text)))
  return align === 'left' ? text + room : room + text
}

/** Columns on a terminal: none for combining marks, two for wide scripts and pictures. */
export function widthOf(text: string): number {
  let width = 0
  for (const character of text) width += /\p{M}/u.test(character) ? 0 : wide.test(character) ? 2 : 1
  return width
}

const wide = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Hangul}\p{Emoji_Presentation}\u3000-\u303e\uff01-\uff60]/u

const secret = '***'

/** Passwords in URLs and connection strings become stars; what is left still tells which server was meant. */
export function withoutPasswords(text: string): string {
  return text
    .replace(/([a-z][a-z0-9+.-]*:\/\/[^\s:/@?]*):[^\s]*@/gi, `$1:${secret}@`)
    .replace(/\b(password|passwd|pwd|pass)=('[^']*'|"[^"]*"|[^\s&'"]+)/gi, `$1=${secret}`)
}
