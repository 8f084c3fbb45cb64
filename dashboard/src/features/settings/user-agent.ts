/** In this order: Edge and Opera also say Chrome, and Chrome also says Safari. */
const BROWSERS: [pattern: RegExp, name: string][] = [
  [/\bEdgA?\//, 'Edge'],
  [/\bOPR\//, 'Opera'],
  [/\bFirefox\/|\bFxiOS\//, 'Firefox'],
  [/\bHeadlessChrome\/|\bChrome\/|\bCriOS\//, 'Chrome'],
  [/\bSafari\//, 'Safari'],
  [/^curl\//, 'curl'],
]
/** Android also says Linux, and an iPhone also says Mac OS X. */
const SYSTEMS: [pattern: RegExp, name: string][] = [
  [/iPhone/, 'iPhone'],
  [/iPad/, 'iPad'],
  [/Android/, 'Android'],
  [/Windows/, 'Windows'],
  [/Mac OS X|Macintosh/, 'macOS'],
  [/CrOS/, 'ChromeOS'],
  [/Linux/, 'Linux'],
]

const find = (names: [RegExp, string][], agent: string) => names.find(([pattern]) => pattern.test(agent))?.[1]

/** `Firefox on Windows`: enough to recognise one's own devices. */
export function describeUserAgent(agent: string | null): string {
  if (!agent) return 'Unknown browser'
  const [browser, system] = [find(BROWSERS, agent), find(SYSTEMS, agent)]
  if (browser && system) return `${browser} on ${system}`
  return browser ?? system ?? agent.slice(0, 60)
}
