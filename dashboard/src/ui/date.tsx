const format = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium' })

export function DateText({ value }: { value: string }) {
  return <time dateTime={value}>{format.format(new Date(value))}</time>
}
