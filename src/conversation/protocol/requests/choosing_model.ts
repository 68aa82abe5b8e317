import { hasCapability } from "../../../claude/versions/profiles.ts";
import type { ControlRequest } from "../../../claude/wire/control.ts";
import { asText, isJsonObject } from "../../../json_object.ts";
import type { Effect } from "../../control/effect.ts";
import type { Consulted } from "../../control/input.ts";
import type { SessionState } from "../../control/session_state.ts";
import { act, type Step } from "../../control/step.ts";
import { changed, errorCode, hasBegun, refuse, respond } from "../answering.ts";

/** The request by which the caller chooses a model. */
export const CHOOSING = "set_model";

/** Most characters of a model's name: it is an argument of the next child. */
const LONGEST_MODEL = 10_000;

/** Whether a name can be that of a model. */
export function mayBeModel(model: unknown): model is string {
  return typeof model === "string" && model.length <= LONGEST_MODEL;
}

/** Why another model cannot be chosen, if a headless Claude Code need not be asked. */
export function whyNoModel(state: SessionState, request: ControlRequest): Effect | undefined {
  const { model } = request.body;
  if (!isNone(model) && !mayBeModel(model)) {
    return refuse(request, {
      error: typeof model === "string"
        ? "Cannot set the model: its name is too long"
        : "set_model: model must be a string",
      ...errorCode(state, "invalid_request"),
    });
  }
  return state.options.caller?.watchesModels
    ? refuse(request, {
      error:
        "Cannot set the model: a hook for PreModelSwitch or PostModelSwitch is set, which would not be called; begin another conversation with --model",
    })
    : undefined;
}

/**
 * A headless Claude Code has chosen the model, by which its full name is known: it holds from the next message on, which
 * goes to a child that is started with it. As in `claude -p` it is told where it is another one than before, in most versions
 * not before the first turn. Where none could be asked, the words of the request are all that there is.
 */
export function chosen(
  state: SessionState,
  { request, said }: { readonly request: ControlRequest; readonly said: Consulted },
): Step {
  if ("error" in said) {
    const { error, errorCode, model } = said;
    return act(state, [refuse(request, {
      error,
      ...(errorCode === undefined ? {} : { error_code: errorCode }),
      ...(model === undefined ? {} : { model }),
    })]);
  }
  const { model } = request.body;
  const named = typeof model === "string" && model !== "" && model !== "default" ? model : null;
  const told = "response" in said ? said.response : {};
  const [before, full] = [modelIn(told["before"]), modelIn(told) ?? modelIn(told["after"])];
  const name = full ?? named ?? "default";
  const isOther = full === undefined || full !== (nameBefore(state) ?? before);
  const isAnswered = hasCapability(state.version, "chosenModelAnswer");
  const isDue = !isAnswered || hasBegun(state);
  return act(
    changed(state, { model: named, ...(full === undefined ? {} : { chosenModel: full }) }),
    [
      ...(isOther && isDue ? [{ type: "model", model: wordsFor({ model, name }) } as const] : []),
      respond(request, isAnswered ? { response: { model: name } } : {}),
    ],
  );
}

/** The full name of the model that has been chosen since the child was started. */
function nameBefore({ changes }: SessionState): string | undefined {
  return changes?.model === undefined ? undefined : changes.chosenModel ?? "";
}

/** The model that is in force, as settings tell it. */
function modelIn(settings: unknown): string | undefined {
  const model = isJsonObject(settings) ? settings["model"] : undefined;
  return typeof model === "string" ? model : undefined;
}

/** What a choice is called: an alias with its model's name behind it. */
function wordsFor({ model, name }: { readonly model: unknown; readonly name: string }): string {
  const alias = isNone(model) || model === "default" ? name : asText(model).trim();
  return alias === name ? name : `${alias} (${name})`;
}

function isNone(model: unknown): model is null | undefined {
  return model === undefined || model === null;
}
