import { writeFileSync } from 'node:fs'
import { relative } from 'node:path'

/** The lines of fast-check about a counterexample. */
const COUNTEREXAMPLE = /Property failed after|Counterexample:/

/** A reporter of vitest that writes the files in which a test failed to the file that `FAILED_FILES` names. */
export default class FailedFiles {
  onTestRunEnd(modules, unhandled, reason) {
    const failed = modules.filter((module) => !module.ok())
    const others = unhandled.length + Number(reason === 'interrupted')
    writeFileSync(process.env.FAILED_FILES, JSON.stringify({ files: failed.map(describe), others }))
  }
}

const describe = (module) => ({
  file: relative(process.cwd(), module.moduleId),
  isRandom: module.moduleId.includes('/chaos/') || messagesOf(module).some((message) => COUNTEREXAMPLE.test(message)),
})

const messagesOf = (module) =>
  [...module.children.allTests('failed')].flatMap((test) => test.result().errors ?? []).map(({ message }) => message)
